// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroWire
import Testing

@testable import Lastro
@testable import LastroSigning

@Suite("The vectors of RFC 9421")
struct MessageVectorTests {
  private static func message(_ vector: RFC9421.Vector, _ signature: String? = nil) throws -> SignatureBase {
    let fields: HTTPFields = [
      try #require(HTTPField.Name("Signature-Input")): "sig=\(vector.input)",
      try #require(HTTPField.Name("Signature")): "sig=:\(signature ?? vector.signature):",
    ]
    var request = RFC9421.request
    var response = RFC9421.response
    request.headerFields += fields
    response.headerFields += fields
    return SignatureBase(request: request, response: vector.isResponse ? response : nil)
  }

  private static func verifier() throws -> MessageVerifier {
    try MessageVerifier(keys: RFC9421.verifyingKeys(), requiring: [], time: .at(RFC9421.created + 60))
  }

  private static func body(_ vector: RFC9421.Vector) -> Data {
    vector.isResponse ? RFC9421.responseBody : RFC9421.requestBody
  }

  @Test("Every signature of the appendix is accepted", arguments: RFC9421.vectors)
  func accepted(_ vector: RFC9421.Vector) throws {
    let keyID = try Self.verifier().verify(Self.message(vector), body: Self.body(vector))
    #expect(keyID == vector.keyID)
  }

  @Test("A signature is refused if a bit of it or of a covered component differs", arguments: RFC9421.vectors)
  func refused(_ vector: RFC9421.Vector) throws {
    var bytes = Array(try #require(Data(base64Encoded: vector.signature)))
    for place in [0, bytes.count / 2, bytes.count - 1] {
      bytes[place] ^= 1
      let message = try Self.message(vector, Data(bytes).base64EncodedString())
      let error = #expect(throws: SignatureError.self) {
        try Self.verifier().verify(message, body: Self.body(vector))
      }
      #expect(error?.code == .mismatch)
      bytes[place] ^= 1
    }
    guard vector.section != "B.2.1" else { return }
    var message = try Self.message(vector)
    message.request?.authority = "example.org"
    message.response?.headerFields[.contentType] = "text/plain"
    let error = #expect(throws: SignatureError.self) { try Self.verifier().verify(message, body: Self.body(vector)) }
    #expect(error?.code == .mismatch)
  }

  @Test(
    "A signature made with a key of the appendix is accepted, and equal where it is always the same",
    arguments: RFC9421.vectors)
  func made(_ vector: RFC9421.Vector) throws {
    let message = try Self.message(vector)
    let input = try #require(StructuredReader.dictionary("sig=\(vector.input)".utf8)?["sig"])
    guard case .list(let items) = input.content else {
      Issue.record("the input is no list")
      return
    }
    let base = try message.bytes(items.compactMap(SignatureComponent.init), input: StructuredWriter.text(input))
    let key = try #require(try RFC9421.signingKeys()[vector.keyID])
    let signature = Data(try key.signature(of: base)).base64EncodedString()
    #expect((signature == vector.signature) == vector.isFixed)
    _ = try Self.verifier().verify(Self.message(vector, signature), body: Self.body(vector))
  }

  @Test("A changed byte of the fields is accepted only where it changes no meaning")
  func mutations() throws {
    let vector = RFC9421.vectors[5]
    let written = Array(vector.input.utf8)
    var refused = 0
    for index in written.indices {
      for byte in Array("x\";() 0=".utf8) where byte != written[index] {
        var changed = written
        changed[index] = byte
        var other = vector
        other.input = String(decoding: changed, as: UTF8.self)
        guard (try? Self.verifier().verify(Self.message(other), body: RFC9421.requestBody)) != nil else {
          refused += 1
          continue
        }
        let read = StructuredReader.dictionary("sig=\(other.input)".utf8)?["sig"]
        #expect(read.map(StructuredWriter.text) == vector.input, "\(other.input)")
      }
    }
    #expect(refused > 800)
  }

  @Test("A body with another digest is refused")
  func body() throws {
    let vector = RFC9421.vectors[3]
    let error = #expect(throws: SignatureError.self) {
      try Self.verifier().verify(Self.message(vector), body: Data("other".utf8))
    }
    #expect(error?.code == .mismatch)
  }

  @Test(
    "Query parameters are spelled as in RFC 9421 §2.2.8",
    arguments: [
      ("var", "this%20is%20a%20big%0Amultiline%20value"), ("bar", "with%20plus%20whitespace"),
      ("façade\": ", "something"),
    ])
  func queryParameters(name: String, value: String) throws {
    let request = HTTPRequest(
      method: .get, scheme: "https", authority: "www.example.com",
      path:
        "/parameters?var=this%20is%20a%20big%0Amultiline%20value&bar=with+plus+whitespace&fa%C3%A7ade%22%3A%20=something"
    )
    let component = SignatureComponent.queryParameter(name)
    let base = try SignatureBase(request: request).bytes([component], input: "()")
    #expect(String(decoding: base, as: UTF8.self) == "\(component): \(value)\n\"@signature-params\": ()")
  }
}
