// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@Suite("Demo API: tokens, limits, payments")
struct DemoTokenTests {
  struct Answer {
    var status: String
    var head: String
    var body: [String: JSONValue]
  }

  private func send(
    _ api: DemoAPI, _ line: String, _ headers: [String] = [], body: String = ""
  ) throws -> Answer {
    let port = try #require(api.baseURL.split(separator: ":").last.flatMap { UInt16($0) })
    return try send(port: port, trusting: api.caPEM, line, headers, body: body)
  }

  private func send(
    port: UInt16, trusting roots: String, _ line: String, _ headers: [String], body: String
  ) throws -> Answer {
    let client = try LoopbackClient(to: .port(port), trusting: roots)
    let fields = (["Host: localhost:\(port)", "Connection: close", "Content-Length: \(body.utf8.count)"] + headers)
      .map { $0 + "\r\n" }.joined()
    try client.send("\(line) HTTP/1.1\r\n\(fields)\r\n\(body)")
    let text = client.receiveAll().text
    let halves = text.split(separator: "\r\n\r\n", maxSplits: 1).map(String.init)
    try #require(halves.count == 2, "\(text)")
    return Answer(
      status: String(halves[0].split(separator: " ")[1]), head: halves[0] + "\r\n",
      body: (try? JSONDecoder().decode([String: JSONValue].self, from: Data(halves[1].utf8))) ?? [:])
  }

  private static let form = "Content-Type: application/x-www-form-urlencoded"
  // demo-client:demo-secret
  private static let basic = "Authorization: Basic ZGVtby1jbGllbnQ6ZGVtby1zZWNyZXQ="

  private func token(_ api: DemoAPI, _ form: String, _ headers: String...) throws -> Answer {
    let answer = try send(api, "POST /oauth/token", [Self.form] + headers, body: form)
    #expect(answer.head.contains("Cache-Control: no-store\r\n"))
    return answer
  }

  private func isLet(in token: String?, _ api: DemoAPI) throws -> Bool {
    try send(api, "GET /private", ["Authorization: Bearer \(token ?? "")"]).status == "200"
  }

  @Test("Client credentials, by Basic or in the body, get a token that gives access to private")
  func clientCredentials() throws {
    let api = try DemoAPI.start(tokenLifetime: 60)
    for answer in [
      try token(api, "grant_type=client_credentials", Self.basic),
      try token(api, "grant_type=client_credentials&client_id=demo-client&client_secret=demo-secret"),
    ] {
      #expect(answer.status == "200")
      #expect(answer.body["token_type"] == "Bearer")
      #expect(answer.body["expires_in"] == 60)
      #expect(answer.body["refresh_token"] == nil)
      #expect(try isLet(in: answer.body["access_token"]?.text, api))
    }
    #expect(api.tokenRequests == 2)
    #expect(api.tokensIssued == 2)
    #expect(try !isLet(in: "access-99", api))
    #expect(try isLet(in: api.token, api))
  }

  @Test("A client's name and secret are form-encoded inside Basic")
  func encodedCredentials() throws {
    let api = try DemoAPI.start(clientID: "a b:c", clientSecret: "p+q%")
    let basic = Data("a+b%3Ac:p%2Bq%25".utf8).base64EncodedString()
    #expect(try token(api, "grant_type=client_credentials", "Authorization: Basic \(basic)").status == "200")
  }

  @Test("Tokens expire by the clock, and on request of the test")
  func expiry() throws {
    let clock = ManualClock()
    let api = try DemoAPI.start(tokenLifetime: 10, time: clock.timeSource)
    let first = try token(api, "grant_type=client_credentials", Self.basic).body["access_token"]?.text
    clock.advance(by: .seconds(9))
    #expect(try isLet(in: first, api))
    clock.advance(by: .seconds(1))
    #expect(try !isLet(in: first, api))
    api.tokenLifetime = 0
    let stillborn = try token(api, "grant_type=client_credentials", Self.basic).body["access_token"]?.text
    #expect(try !isLet(in: stillborn, api))
    api.tokenLifetime = 10
    let second = try token(api, "grant_type=client_credentials", Self.basic).body["access_token"]?.text
    api.revokeTokens()
    #expect(try !isLet(in: second, api))
    let refused = try send(api, "GET /private", ["Authorization: Bearer \(second ?? "")"])
    #expect(refused.head.contains(#"WWW-Authenticate: Bearer realm="demo", error="invalid_token""#))
  }

  @Test("A refresh token is replaced, and reusing it revokes its replacements")
  func rotation() throws {
    let api = try DemoAPI.start()
    func refresh(_ refreshToken: String) throws -> Answer {
      try token(api, "grant_type=refresh_token&refresh_token=\(refreshToken)", Self.basic)
    }
    let first = api.makeRefreshToken()
    let other = api.makeRefreshToken()
    let answer = try refresh(first)
    #expect(try isLet(in: answer.body["access_token"]?.text, api))
    let second = try #require(answer.body["refresh_token"]?.text)
    let third = try #require(try refresh(second).body["refresh_token"]?.text)
    let again = try refresh(second)
    #expect(again.status == "400")
    #expect(again.body["error"] == "invalid_grant")
    #expect(try refresh(third).status == "400")
    let kept = try #require(try refresh(other).body["refresh_token"]?.text)
    api.revokeRefreshTokens()
    #expect(try refresh(kept).body["error"] == "invalid_grant")
    #expect(api.tokensIssued == 3)
  }

  @Test("A server of the demo has known credentials, and revokes access tokens on request")
  func server() throws {
    let root = try CertificateAuthority()
    let server = try LoopbackServer.demo(tls: LoopbackTLS(root.issue(hosts: ["localhost"])))
    defer { server.stop() }
    func send(_ line: String, _ headers: String..., body: String = "") throws -> Answer {
      try self.send(port: UInt16(server.port), trusting: root.rootPEM, line, headers, body: body)
    }
    func refresh() throws -> Answer {
      let form = "grant_type=refresh_token&refresh_token=demo-refresh-token"
      return try send("POST /oauth/token", Self.form, Self.basic, body: form)
    }
    let token = try #require(try refresh().body["access_token"]?.text)
    #expect(try refresh().body["error"] == "invalid_grant")
    #expect(try send("GET /private", "Authorization: Bearer demo-token").status == "200")
    #expect(try send("GET /private", "Authorization: Bearer \(token)").status == "200")
    #expect(try send("DELETE /oauth/tokens").body == ["revoked": 1])
    #expect(try send("GET /private", "Authorization: Bearer \(token)").status == "401")
    #expect(try send("POST /payments", body: #"{"amount":5}"#).status == "201")
    #expect(try send("GET /payments").body == ["made": 1])
  }

  @Test("Invalid token requests are refused")
  func refusals() throws {
    let api = try DemoAPI.start()
    let body = "client_id=demo-client&client_secret=demo-secret"
    let cases: [(String, [String], String)] = [
      ("", [Self.form, Self.basic], "invalid_request"),
      ("grant_type=", [Self.form, Self.basic], "invalid_request"),
      ("grant_type=a&grant_type=a", [Self.form, Self.basic], "invalid_request"),
      ("grant_type=client_credentials&\(body)", [Self.form, Self.basic], "invalid_request"),
      ("grant_type=client_credentials", [Self.basic], "invalid_request"),
      ("grant_type=refresh_token", [Self.form, Self.basic], "invalid_request"),
      ("grant_type=refresh_token&refresh_token=x", [Self.form, Self.basic], "invalid_grant"),
      ("grant_type=password", [Self.form, Self.basic], "unsupported_grant_type"),
      ("grant_type=client_credentials", [Self.form], "invalid_client"),
      ("grant_type=client_credentials", [Self.form, "Authorization: Basic eDp5"], "invalid_client"),
      ("grant_type=client_credentials", [Self.form, "Authorization: Bearer x"], "invalid_client"),
      ("grant_type=client_credentials&client_id=demo-client", [Self.form], "invalid_client"),
    ]
    for (form, headers, error) in cases {
      let answer = try send(api, "POST /oauth/token", headers, body: form)
      #expect(answer.body["error"]?.text == error, "\(form)")
      #expect(answer.status == (error == "invalid_client" ? "401" : "400"))
      #expect(answer.head.contains("WWW-Authenticate: Basic ") == (error == "invalid_client"))
      #expect(answer.head.contains("Cache-Control: no-store\r\n"))
    }
    #expect(try send(api, "GET /oauth/token").status == "405")
    #expect(api.tokenRequests == cases.count)
    #expect(api.tokensIssued == 0)
  }

  @Test("limited asks to wait once for each key")
  func limited() throws {
    let api = try DemoAPI.start()
    let first = try send(api, "GET /limited/a?retry_after=7")
    #expect(first.status == "429")
    #expect(first.head.contains("Retry-After: 7\r\n"))
    #expect(try send(api, "GET /limited/a?retry_after=7").status == "200")
    #expect(try send(api, "GET /limited/b").head.contains("Retry-After: 1\r\n"))
    #expect(try send(api, "GET /limited/c?retry_after=soon").status == "422")
  }

  @Test("A payment is made once for each key, after the given number of failures")
  func payments() throws {
    let api = try DemoAPI.start()
    func pay(_ body: String, key: String?, failures: Int = 0) throws -> Answer {
      try send(api, "POST /payments?failures=\(failures)", key.map { ["Idempotency-Key: \($0)"] } ?? [], body: body)
    }
    let order = #"{"amount":5,"currency":"USD"}"#
    #expect(try pay(order, key: "k", failures: 2).status == "503")
    #expect(try pay(order, key: "k", failures: 2).status == "503")
    #expect(api.paymentsMade == 0)
    let made = try pay(order, key: "k", failures: 2)
    #expect(made.status == "201")
    #expect(made.body == ["id": 1, "amount": 5, "currency": "USD"])
    #expect(!made.head.contains("Idempotency-Replayed"))
    let again = try pay(order, key: "k", failures: 2)
    #expect(again.status == "201")
    #expect(again.body == made.body)
    #expect(again.head.contains("Idempotency-Replayed: true\r\n"))
    #expect(try pay(#"{"amount":6}"#, key: "k").status == "422")
    #expect(api.paymentsMade == 1)
    #expect(try pay(order, key: nil).status == "201")
    #expect(try pay(order, key: nil).body["id"] == 3)
    #expect(try pay(#"{"amount":0}"#, key: "z").status == "422")
    #expect(try pay("{", key: "z").status == "400")
    #expect(api.paymentsMade == 3)
  }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
  package init(stringLiteral value: String) { self = .string(value) }
  package init(integerLiteral value: Int64) { self = .integer(value) }

  fileprivate var text: String? { if case .string(let text) = self { text } else { nil } }
}
