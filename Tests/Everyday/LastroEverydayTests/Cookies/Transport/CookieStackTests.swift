// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import LastroEveryday

/// A jar between a stack and its transport.
@Suite("Cookies of a stack", .timeLimit(.minutes(15)))
struct CookieStackTests {
  private static func stack(
    _ transport: ScriptedTransport, _ jar: CookieJar?, interceptors: [any HTTPResourceInterceptor] = []
  ) -> TransportNetworkStack {
    TransportNetworkStack(transport, interceptors: interceptors) { $0.cookies = jar }
  }

  private static func jar() -> CookieJar { TestJar().jar }

  private static func setting(_ status: Int = 200, _ lines: String..., location: String? = nil)
    -> ScriptedTransport.Step
  {
    var fields = HTTPFields()
    for line in lines { fields.append(HTTPField(name: .setCookie, value: line)) }
    if let location { fields[.location] = location }
    return .answer(status, fields: fields)
  }

  private static func sent(_ transport: ScriptedTransport) -> [String?] {
    transport.requests.map { $0.head.headerFields[.cookie] }
  }

  @Test("A stack has a jar only if it is given one, and two jars share nothing")
  func apart() async throws {
    let transport = ScriptedTransport(repeatingLast: Self.setting(200, "a=1"))
    let jars = [Self.jar(), Self.jar()]
    for jar in [nil, jars[0], jars[0], jars[1], nil] {
      _ = try await Self.stack(transport, jar).fetch(.test(url: "https://a.com/"))
    }
    #expect(Self.sent(transport) == [nil, nil, "a=1", nil, nil])
    var configuration = StackConfiguration()
    #expect(configuration.cookies == nil)
    configuration.cookies = jars[0]
    #expect(configuration.cookies === jars[0])
    configuration.cookies = nil
    #expect(configuration.cookies == nil)
  }

  @Test("A request's own jar is used in a stack without a jar: it sends its cookies and keeps those of the response")
  func ownJar() async throws {
    let transport = ScriptedTransport(repeatingLast: Self.setting(200, "a=1"))
    var options = RequestOptions()
    options.cookies = .with(Self.jar())
    let stack = Self.stack(transport, nil)
    for _ in 0..<2 { _ = try await stack.fetch(.test(url: "https://a.com/", options: options)) }
    _ = try await stack.fetch(.test(url: "https://a.com/"))
    #expect(Self.sent(transport) == [nil, "a=1", nil])
    let words = await stack.explain(try RawHTTPResource.test(url: "https://a.com/", options: options))
    #expect(words.contains("sends 1 cookie: a"))
  }

  @Test("Each redirect sends and stores the cookies of its place: a, b, and a again with what b needed")
  func redirects() async throws {
    let transport = ScriptedTransport([
      Self.setting(302, "first=1", location: "https://login.b.com/"),
      Self.setting(302, "login=2", location: "https://a.com/"), Self.setting(200, "last=3"),
    ])
    let jar = Self.jar()
    let answer = try await Self.stack(transport, jar).fetch(.test(url: "https://a.com/"))
    #expect(Self.sent(transport) == [nil, nil, "first=1"])
    #expect(jar.cookies.map { "\($0.name) \($0.domain)" } == ["first a.com", "login login.b.com", "last a.com"])
    #expect(answer.response.redirects.count == 2)
  }

  @Test("A redirect back to the same place is a loop only if no cookie changed")
  func loops() async throws {
    let bounce = Self.setting(302, "seen=1", location: "https://a.com/")
    let transport = ScriptedTransport([bounce, Self.setting(200)])
    _ = try await Self.stack(transport, Self.jar()).fetch(.test(url: "https://a.com/"))
    #expect(Self.sent(transport) == [nil, "seen=1"])
    let endless = ScriptedTransport(repeatingLast: bounce)
    #expect(try await Self.stack(endless, Self.jar()).failure(of: .test(url: "https://a.com/")).code == .redirectLoop)
    #expect(endless.requests.count == 2)
    let without = ScriptedTransport(repeatingLast: bounce)
    #expect(try await Self.stack(without, nil).failure(of: .test(url: "https://a.com/")).code == .redirectLoop)
    #expect(without.requests.count == 1)
    let changing = ScriptedTransport { (_, number) throws(TransportError) in
      var answer = TransferResponse.redirect(to: "https://a.com/")
      answer.head.headerFields[.setCookie] = "n=\(number)"
      return answer
    }
    let error = try await Self.stack(changing, Self.jar()).failure(of: .test(url: "https://a.com/"))
    #expect(error.code == .tooManyRedirects)
  }

  @Test("A response that starts a session in one jar is not cached for another, though cache and server are shared")
  func sharedCache() async throws {
    let transport = ScriptedTransport { (_, number) throws(TransportError) in
      .answer(200, fields: [.cacheControl: "max-age=60", .setCookie: "session=\(number)"], body: "\(number)")
    }
    let cache = HTTPCache()
    var got: [[String]] = []
    for jar in [Self.jar(), Self.jar()] {
      let stack = TransportNetworkStack(transport) {
        $0.cookies = jar
        $0.cache = cache
      }
      let answer = try await stack.fetch(.test(url: "https://a.com/"))
      got.append(jar.cookies.map { $0.value.reveal() } + [String(decoding: answer.value, as: UTF8.self)])
    }
    #expect(got == [["0", "0"], ["1", "1"]])
    #expect(Self.sent(transport) == [nil, nil])
  }

  @Test("A retry sends the cookies set by the 503")
  func retry() async throws {
    let transport = ScriptedTransport([Self.setting(503, "busy=1"), Self.setting(200)])
    _ = try await Self.stack(transport, Self.jar(), interceptors: [AlwaysRetry()]).fetch(.test(url: "https://a.com/"))
    #expect(Self.sent(transport) == [nil, "busy=1"])
  }

  @Test("4xx and 5xx set cookies, and 1xx do not", arguments: [(404, 1), (500, 1), (101, 0)])
  func statuses(status: Int, count: Int) async throws {
    let jar = Self.jar()
    _ = try? await Self.stack(ScriptedTransport([Self.setting(status, "a=1")]), jar).fetch(.test())
    #expect(jar.cookies.count == count)
  }

  @Test("Cookies of a received head are stored, whatever happens to its body")
  func brokenBody() async throws {
    let jar = Self.jar()
    let error = TransportError(
      stage: .response, code: .truncatedBody, message: "cut", requestSent: true,
      head: HTTPResponse(status: .ok, headerFields: [.setCookie: "a=1"]))
    _ = try? await Self.stack(ScriptedTransport([.fail(error)]), jar).fetch(.test())
    #expect(jar.cookies.map(\.name) == ["a"])
  }

  @Test("Set-Cookie lines are kept separate, with commas and the server's bytes")
  func lines() async throws {
    let jar = Self.jar()
    let transport = ScriptedTransport([
      Self.setting(200, "a=1; Expires=Fri, 07 Aug 2099 08:04:19 GMT", "b=ß,c=2"), Self.setting(200),
    ])
    let stack = Self.stack(transport, jar)
    for _ in 0..<2 { _ = try await stack.fetch(.test()) }
    #expect(Self.sent(transport) == [nil, "a=1; b=ß,c=2"])
  }

  @Test("A request with its own Cookie field is sent unchanged, and its response's cookies are stored")
  func own() async throws {
    let jar = Self.jar()
    let transport = ScriptedTransport([Self.setting(200, "a=1"), Self.setting(200, "b=2")])
    let stack = Self.stack(transport, jar)
    _ = try await stack.fetch(.test())
    _ = try await stack.fetch(.test(fields: [.cookie: "mine=1"]))
    #expect(Self.sent(transport) == [nil, "mine=1"])
    #expect(jar.cookies.count == 2)
  }

  @Test("A request may have no jar, or another one")
  func uses() async throws {
    let jar = Self.jar(), other = Self.jar()
    let transport = ScriptedTransport(repeatingLast: Self.setting(200, "a=1"))
    let stack = Self.stack(transport, jar)
    func options(_ use: StackPartUse<CookieJar>) -> RequestOptions {
      var options = RequestOptions()
      options.cookies = use
      return options
    }
    _ = try await stack.fetch(.test(options: options(.none)))
    #expect(jar.cookies.isEmpty)
    for _ in 0..<2 { _ = try await stack.fetch(.test(options: options(.with(other)))) }
    _ = try await stack.fetch(.test(options: options(.stack)))
    #expect(Self.sent(transport) == [nil, nil, "a=1", nil])
    #expect(jar.cookies.count == 1 && other.cookies.count == 1)
  }

  @Test("The ledger shows the cookies sent and stored, without values, and an explanation those to be sent")
  func told() async throws {
    let jar = Self.jar()
    let transport = ScriptedTransport([
      Self.setting(200, "session=hunter2", "x=1; Domain=other.org"), Self.setting(200, "session=hunter2"),
    ])
    let stack = Self.stack(transport, jar)
    var texts: [String] = []
    for _ in 0..<2 {
      let answer = try await stack.fetch(.test())
      texts.append(answer.response.facts.notes.map(\.text).joined(separator: " | "))
    }
    #expect(
      texts == [
        "cookies session: stored; x: refused, as it \(CookieRefusal.foreignDomain.reason)",
        "cookies session: renewed | sent 1 cookie: session",
      ])
    let facts = CookieSending(jar: jar).transport(over: transport, for: StackConfiguration())
      .explain(TransferRequest(head: try ResourceRequest.test().head))
    #expect(facts.map { [$0.name, $0.value] } == [["cookies", "sends 1 cookie: session"]])
    #expect(transport.requests.last?.secrets == ["hunter2"])
  }
}
