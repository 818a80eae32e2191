// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroTesting
import TestSupport
import Testing

@testable import LastroEveryday

@Suite("Patches", .timeLimit(.minutes(15)))
struct PatchTests {
  private func text(_ body: RequestBody) throws -> String {
    guard case .bytes(let data) = body.source else { throw Unexpected() }
    return String(decoding: data, as: UTF8.self)
  }

  private struct Unexpected: Error {}

  private func normalized(_ json: String) throws -> NSDictionary {
    try #require(JSONSerialization.jsonObject(with: Data(json.utf8)) as? NSDictionary)
  }

  @Test("A merge patch sets, removes and merges members, as in the example of RFC 7396")
  func mergePatch() throws {
    let patch: MergePatch = [
      "title": "Hello!", "phoneNumber": "+01-123-456-7890", "author": ["familyName": .remove],
      "tags": .value(["example"]),
    ]
    let body = try RequestBody.mergePatch(patch)
    #expect(body.contentType == "application/merge-patch+json")
    #expect(
      try normalized(text(body))
        == normalized(
          """
          {"title": "Hello!", "phoneNumber": "+01-123-456-7890", "author": {"familyName": null}, "tags": ["example"]}
          """))
  }

  @Test("A JSON patch has an operation for each change, with escaped paths")
  func jsonPatch() throws {
    let patch: JSONPatch = [
      .test(["a/b", "m~n"], 3), .replace(["title"], "x"), .add(["list", "0"], [1]), .append(to: ["list"], true),
      .remove(["old"]), .move(["a"], to: ["b"]), .copy([], to: ["c"]), .replace(["n"], String?.none),
    ]
    let body = try RequestBody.jsonPatch(patch)
    #expect(body.contentType == "application/json-patch+json")
    let operations = try #require(
      JSONSerialization.jsonObject(with: Data(text(body).utf8)) as? [NSDictionary])
    let expected: [NSDictionary] = [
      ["op": "test", "path": "/a~1b/m~0n", "value": 3], ["op": "replace", "path": "/title", "value": "x"],
      ["op": "add", "path": "/list/0", "value": [1]], ["op": "add", "path": "/list/-", "value": true],
      ["op": "remove", "path": "/old"], ["op": "move", "path": "/b", "from": "/a"],
      ["op": "copy", "path": "/c", "from": ""], ["op": "replace", "path": "/n", "value": NSNull()],
    ]
    #expect(operations == expected)
  }

  @Test("A path is escaped by its scalars, so that a combining mark hides no separator")
  func combining() {
    let path: JSONPatch.Path = ["a/\u{301}b", "~\u{200D}", ""]
    #expect(Array("\(path)".utf8) == Array("/a~1\u{301}b/~0\u{200D}/".utf8))
  }

  @Test("A patch is written by the stack's encoder, and secrets in it are masked")
  func stackEncoder() async throws {
    struct Change: Encodable, Sendable { let dueDate: Date, token: Secret }
    let transport = ScriptedTransport([.answer(204)])
    var configuration = StackConfiguration()
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.keyEncodingStrategy = .convertToSnakeCase
    configuration.jsonEncoder = encoder
    let body = try RequestBody.mergePatch(
      Change(dueDate: Date(timeIntervalSince1970: 0), token: Secret("a-long-secret")))
    #expect(body.secrets == [Secret("a-long-secret")])
    let resource = RawHTTPResource.send(.patch, "https://api.example.org/notes/7", body: body)
    _ = try await TransportNetworkStack(transport: transport, configuration: configuration).fetch(resource)
    let sent = try #require(transport.requests.first)
    #expect(try normalized(text(sent.body)) == ["due_date": "1970-01-01T00:00:00Z", "token": "a-long-secret"])
    #expect(sent.head.headerFields[.contentType] == "application/merge-patch+json")
  }
}
