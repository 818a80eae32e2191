// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Single Cookie field", .timeLimit(.minutes(15)))
struct CookieFieldTests {
  private func lines(_ fields: HTTPFields) -> [String] { fields.map { "\($0.name.rawName): \($0.value)" } }

  @Test("Cookies are joined at the position of the first one, and other fields stay in place")
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

  @Test("One cookie field, or none, changes nothing", arguments: [[], ["a=1; b=2"], [""]])
  func untouched(cookies: [String]) {
    var fields = HTTPFields()
    fields[values: .cookie] = cookies
    fields[.accept] = "a"
    #expect(lines(fields.withOneCookieField) == lines(fields))
  }

  @Test("A curl command shows the field that is sent")
  func command() throws {
    var request = try ResourceRequest(url: "https://example.com/")
    request.head.headerFields[.cookie] = "a=1; b=2"
    #expect(CurlCommand.render(request).split(separator: "Cookie:").count == 2)
  }

  @Test("A transport receives one field")
  func pipeline() async throws {
    let transport = ScriptedTransport(repeatingLast: .answer(200))
    _ = try await TransportNetworkStack(transport).fetch(.test(fields: [.cookie: "a=1; b=2"]))
    #expect(transport.requests.first?.head.headerFields[values: .cookie] == ["a=1; b=2"])
  }
}
