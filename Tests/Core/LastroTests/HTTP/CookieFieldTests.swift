// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("One Cookie field", .timeLimit(.minutes(5)))
struct CookieFieldTests {
  private func lines(_ fields: HTTPFields) -> [String] { fields.map { "\($0.name.rawName): \($0.value)" } }

  @Test("cookies are joined where the first of them stood; other fields stay as they are")
  func joined() throws {
    var fields = HTTPFields()
    fields.append(HTTPField(name: .accept, value: "a"))
    fields.append(HTTPField(name: try #require(HTTPField.Name("cookie")), value: "a=1"))
    fields.append(HTTPField(name: .accept, value: "b"))
    fields.append(HTTPField(name: .cookie, value: "b=2; c=3"))
    fields.append(HTTPField(name: .from, value: "x"))
    fields.append(HTTPField(name: .cookie, value: "d=\u{E4}"))
    let joined = fields.withOneCookieField
    #expect(lines(joined) == ["Accept: a", "cookie: a=1; b=2; c=3; d=\u{E4}", "Accept: b", "From: x"])
    #expect(joined.withOneCookieField == joined)
    #expect(joined[.cookie] == fields[.cookie])
  }

  @Test("one cookie, or none, changes nothing", arguments: [[], ["a=1; b=2"], [""]])
  func untouched(cookies: [String]) {
    var fields = HTTPFields()
    fields[values: .cookie] = cookies
    fields[.accept] = "a"
    #expect(lines(fields.withOneCookieField) == lines(fields))
  }

  @Test("a curl command shows what is sent")
  func command() throws {
    var request = try ResourceRequest(url: "https://example.com/")
    request.head.headerFields[.cookie] = "a=1; b=2"
    #expect(CurlCommand.render(request).split(separator: "Cookie:").count == 2)
  }

  @Test("what a transport gets has one field")
  func pipeline() async throws {
    let transport = ScriptedTransport(repeatingLast: .answer(200))
    _ = try await TransportNetworkStack(transport).fetch(.test(fields: [.cookie: "a=1; b=2"]))
    #expect(transport.requests.first?.head.headerFields[values: .cookie] == ["a=1; b=2"])
  }
}
