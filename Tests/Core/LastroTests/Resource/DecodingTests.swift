// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import Lastro

@Suite("Decoding")
struct DecodingTests {
  static let response = ResourceResponse(
    head: HTTPResponse(status: .ok, headerFields: [.contentType: "application/json"]), url: "https://example.com/")

  static func decode<T: Decodable & Sendable>(_ type: T.Type, _ text: String) throws -> T {
    try ModelDecoding<T, Data, ResourceResponse>.json().decode(Data(text.utf8), response)
  }

  @Test("JSON decodes into the model", .parity("MD01"))
  func json() throws {
    #expect(try Self.decode(Model.self, #"{"name":"a"}"#) == Model(name: "a"))
  }

  @Test("A missing key is reported as the decoder's own error", .parity("MD02"))
  func missingKey() throws {
    let error = #expect(throws: DecodingError.self) { try Self.decode(Model.self, "{}") }
    guard case .keyNotFound(let key, _)? = error else { throw TestFailure("\(String(describing: error))") }
    #expect(key.stringValue == "name")
  }

  @Test("The given decoder is used")
  func ownDecoder() throws {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    struct Snake: Decodable, Sendable { var userName: String }
    let decoding = ModelDecoding<Snake, Data, ResourceResponse>.json(decoder: decoder)
    #expect(try decoding.decode(Data(#"{"user_name":"a"}"#.utf8), Self.response).userName == "a")
  }

  @Test("An empty body decodes into an optional and NoContent only")
  func emptyPayload() throws {
    #expect(try Self.decode(Model?.self, "") == nil)
    #expect(try Self.decode(NoContent.self, "") == NoContent())
    #expect(try Self.decode(NoContent.self, #"{"a":1}"#) == NoContent())
    #expect(try Self.decode(Model?.self, #"{"name":"a"}"#) == Model(name: "a"))
    let error = #expect(throws: (any Error).self) { try Self.decode(Model.self, "") }
    #expect("\(try #require(error))".contains("no body"))
  }

  @Test("Raw bytes, no content, text and mapped models decode")
  func others() throws {
    let data = Data("grüß".utf8)
    #expect(try ModelDecoding<Data, Data, ResourceResponse>.raw.decode(data, Self.response) == data)
    #expect(try ModelDecoding<NoContent, Data, ResourceResponse>.empty.decode(data, Self.response) == NoContent())
    #expect(try ModelDecoding<String, Data, ResourceResponse>.text.decode(data, Self.response) == "grüß")
    #expect(throws: (any Error).self) {
      try ModelDecoding<String, Data, ResourceResponse>.text.decode(Data([0xC3, 0x28]), Self.response)
    }
    let count = ModelDecoding<String, Data, ResourceResponse>.text.map(\.count)
    #expect(try count.decode(data, Self.response) == 4)
    #expect(throws: TestError.self) {
      try count.map { _ -> Int in throw TestError() }.decode(data, Self.response)
    }
  }

  @Test(
    "Error decodings return the API's error, nothing for an empty body, and nothing at all for the dummy",
    .parity("ED01", "ED02", "ED03", "ED04"))
  func errors() throws {
    let decoding = ErrorDecoding<APIFailure, Data, ResourceResponse>.json()
    #expect(try decoding.decode(nil, Self.response) == nil)
    #expect(try decoding.decode(Data(), Self.response) == nil)
    #expect(try decoding.decode(Data(#"{"message":"m"}"#.utf8), Self.response) == APIFailure(message: "m"))
    #expect(throws: DecodingError.self) { try decoding.decode(Data("{}".utf8), Self.response) }
    let dummy = ErrorDecoding<APIFailure, Data, ResourceResponse>.dummy
    #expect(try dummy.decode(nil, Self.response) == nil)
    #expect(try dummy.decode(Data("{}".utf8), Self.response) == nil)
    let erased = ErrorDecoding<any Error, Data, ResourceResponse>.json(APIFailure.self)
    #expect(try erased.decode(Data(#"{"message":"m"}"#.utf8), Self.response) as? APIFailure == APIFailure(message: "m"))
  }

  @Test("A decoding failure keeps path, status, fields, snippet and the decoder's error")
  func failure() throws {
    struct Page: Decodable, Sendable { var items: [Model] }
    let text = #"{"items":[{"name":"a"},{"name":3}],"access_token":"s3cr3t"}"#
    let error = #expect(throws: DecodingError.self) { try Self.decode(Page.self, text) }
    let failure = DecodeFailure(try #require(error), payload: Data(text.utf8), metadata: Self.response)
    #expect(failure.codingPath == "items[1].name")
    #expect(failure.status == .ok)
    #expect(failure.headerFields[.contentType] == "application/json")
    #expect(failure.underlying is DecodingError)
    #expect(failure.snippet?.text.contains("s3cr3t") == false)
    #expect(failure.snippet?.text.contains(#""name":3"#) == true)
    #expect(failure.description.contains("items[1].name") && failure.description.contains("200"))
  }

  @Test(
    "The texts for null, for a missing value and for JSON that is cut short or wrong have the place",
    arguments: [
      (#"{"items":[{"name":"a"},{"name":null}]}"#, "at items[1].name: the value is null, String was expected"),
      (#"{"items":[null]}"#, "at items[0]: the value is null, "),
      (#"{"items":null}"#, "at items: the value is null, "),
      (#"{"items":[{"name":"a"},{}]}"#, #"at items[1]: the key "name" is missing"#),
      (#"{"items":[{"name":"a"},{"na"#, "the payload is not valid JSON: it ends after 27 bytes, within a value"),
      (#"{"#, "the payload is not valid JSON: it ends after 1 byte, within a value"),
      (#"{"items":[{"name":"a"}}"#, "the payload is not valid JSON: byte 23 cannot be there"),
    ])
  func places(text: String, description: String) throws {
    struct Page: Decodable, Sendable { var items: [Model] }
    let error = #expect(throws: DecodingError.self) { try Self.decode(Page.self, text) }
    let failure = DecodeFailure(try #require(error), payload: Data(text.utf8), metadata: Self.response)
    #expect("\(failure)".hasPrefix(description) && "\(failure)".hasSuffix(" (status 200)"), "\(failure)")
  }

  @Test("A decoding failure of a stack without HTTP has no status")
  func foreignFailure() {
    let failure = DecodeFailure(TestError(), payload: 3, metadata: "x")
    #expect(failure.status == nil && failure.snippet == nil && failure.headerFields.isEmpty)
  }

  @Test(
    "Snippets mask secrets",
    arguments: [
      (#"{"access_token":"abc","name":"n"}"#, #"{"access_token":"***","name":"n"}"#),
      (#"{"password" : "a b, c"}"#, #"{"password" : "***"}"#),
      (#"{"session_id":12345,"a":1}"#, #"{"session_id":***,"a":1}"#),
      ("grant_type=x&client_secret=abc&scope=y", "grant_type=x&client_secret=***&scope=y"),
      ("Authorization: Bearer abc.def", "Authorization: ***"),
      (#"{"error":"invalid_token"}"#, #"{"error":"invalid_token"}"#),
      (#"{"tokens":["a","b"],"x":1}"#, #"{"tokens":***,"x":1}"#),
      (#"{"secret":{"password":"a\"b","x":"y"}}"#, #"{"secret":***}"#),
      (#"{"a":{"password":"a\"b","x":"y"}}"#, #"{"a":{"password":"***","x":"y"}}"#),
      (#"{"token_type":"bearer","expires":1}"#, #"{"token_type":"***","expires":1}"#),
      (#"{"kind":"bearer","expires":1}"#, #"{"kind":"bearer","expires":1}"#),
      ("a bearer abc", "a bearer ***"),
      ("plain text", "plain text"),
    ])
  func masking(text: String, expected: String) {
    #expect(BodySnippet(Data(text.utf8), limit: 512).text == expected)
  }

  @Test("Snippets are bounded, and a cut character does not make text binary")
  func bounds() {
    let long = BodySnippet(Data(String(repeating: "a", count: 1000).utf8), limit: 10)
    #expect(long.text == "aaaaaaaaaa… (1000 bytes)")
    #expect(long.byteCount == 1000)
    #expect(BodySnippet(Data("aé…".utf8), limit: 2).text == "a… (6 bytes)")
    #expect(BodySnippet(Data("éa".utf8), limit: 2).text == "é… (3 bytes)")
    #expect(BodySnippet(Data([0xFF, 0x00, 1]), limit: 10).text == "<3 bytes, not text>")
    #expect(BodySnippet(Data([0xFF]), limit: 10).text == "<1 byte, not text>")
  }

  @Test("Only markup is quoted: a body that is not text is described by its type alone, as plain text is")
  func foreignBodies() {
    for (type, body, description) in [
      ("image/png", [0xFF, 0x00, 0x01], "image/png"),
      ("text/html", [0x3C, 0x00, 0x3E], "text/html"),
      ("text/plain; charset=utf-8", Array("token".utf8), "text/plain"),
      ("text/html", Array("<p>no</p>".utf8), "text/html, and begins with <p>no</p>"),
      ("application/problem+json", Array("<".utf8), nil),
      ("text/html", [], nil),
    ] as [(String, [UInt8], String?)] {
      #expect(BodySnippet(body, limit: 512).foreign(to: [.contentType: type]) == description)
    }
  }

  @Test("Error bodies decode as text")
  func plainErrors() throws {
    let text = ErrorDecoding<TextAPIError, Data, ResourceResponse>.text
    for nothing in [nil, Data()] {
      #expect(try text.decode(nothing, Self.response) == nil)
    }
    let page = Data("token=s3cr3t".utf8)
    #expect(try text.decode(page, Self.response) == TextAPIError(text: "token=s3cr3t"))
    #expect(throws: (any Error).self) { try text.decode(Data([0xFF]), Self.response) }
    #expect("\(TextAPIError(text: "token=s3cr3t"))" == "token=***")
  }

  private enum Colour: String, Decodable, Sendable { case red }

  @Test("A decoding failure shows no values and few of the payload's keys, on one line")
  func boundedFailure() throws {
    func failure<T: Decodable & Sendable>(_ type: T.Type, _ text: String) throws -> DecodeFailure {
      let error = #expect(throws: DecodingError.self) { try Self.decode(type, text) }
      return DecodeFailure(try #require(error), payload: Data(text.utf8), metadata: Self.response)
    }
    let value = try failure([Colour].self, #"["s3cr3t from invalid s3cr3t"]"#)
    #expect(value.codingPath == "[0]" && !value.description.contains("s3cr3t"))
    let number = try failure([UInt8].self, "[123456789]")
    #expect(!number.description.contains("123456789") && !number.message.isEmpty)
    let key = String(repeating: "k", count: 5000)
    let keys = try failure([String: [String: Int]].self, #"{"a\nb":{"\#(key)":"x"}}"#)
    #expect(!keys.description.contains("\n") && keys.codingPath.hasPrefix("a\\nb.kkk"))
    #expect(keys.codingPath.count <= 201 && keys.description.count < 600)
    let foreign = DecodeFailure(TestError(name: key + "\n"), payload: 3, metadata: "x")
    #expect(foreign.message.count <= 201)
  }
}
