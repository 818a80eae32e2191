// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// Servers that redirect clients to forbidden places.
@Suite("Faults: redirects", .replayed, .timeLimit(.minutes(15)))
struct RedirectFaultTests {
  private static func redirect(_ location: String, status: Int = 302) -> LoopbackResponse {
    LoopbackResponse(status: status, headers: ["Location": location])
  }

  private func failure(
    _ url: String, headers: RawHeaders = [:], adapting adapt: (inout StackConfiguration) -> Void = { _ in }
  ) async throws -> HTTPFetchError<any Error> {
    var configuration = StackConfiguration()
    // No test of this suite is about time, and the machine may be busy.
    configuration.timeouts = try Timeouts(connect: .seconds(60), total: .seconds(200))
    adapt(&configuration)
    let stack = try CurlNetworkStack(configuration: configuration.replayed)
    let resource = RawHTTPResource.raw(try ResourceRequest(url: url, headers: headers))
    return try await #require(throws: HTTPFetchError<any Error>.self) { try await stack.fetch(resource) }
  }

  @Test("A redirect to itself, and one that returns to an earlier URL, fail as loops", arguments: [1, 3])
  func loop(length: Int) async throws {
    let server = try LoopbackServer.http { request in
      let number = Int(request.path.dropFirst()) ?? 0
      return Self.redirect("/\((number + 1) % length)")
    }
    let error = try await failure(server.baseURL + "/0")
    #expect(error.words == "redirect/redirect_loop")
    #expect(server.requests.count == length)
  }

  @Test("Redirects beyond the limit fail")
  func endless() async throws {
    let server = try LoopbackServer.http { request in
      Self.redirect("/\((Int(request.path.dropFirst()) ?? 0) + 1)")
    }
    let error = try await failure(server.baseURL + "/0") { $0.redirects = .follow(limit: 5) }
    #expect(error.words == "redirect/too_many_redirects", "\(error)")
    #expect(server.requests.count == 6)
  }

  @Test(
    "Invalid locations are refused",
    arguments: [
      "http://", "http:///path", "http://127.0.0.1:0/", "http://127.0.0.1:65536/", "http://127.0.0.1:port/",
      "http://user:secret@127.0.0.1/", "//user@127.0.0.1/", "http://@127.0.0.1/", "ftp://127.0.0.1/",
      "file:///etc/passwd",
      "javascript:alert(1)", "http://[::1/", "http://127.0.0.1:80:80/",
    ])
  func badLocation(_ location: String) async throws {
    let server = try LoopbackServer.http { _ in Self.redirect(location) }
    let error = try await failure(server.baseURL)
    #expect(error.words == "redirect/invalid_redirect")
    #expect(server.requests.count == 1)
  }

  @Test("A redirect from https to http is refused, and followed where it is allowed", arguments: [false, true])
  func insecure(isAllowed: Bool) async throws {
    let plain = try LoopbackServer.http { _ in .text("plain") }
    let authority = try CertificateAuthority()
    let location = plain.baseURL + "/"
    let secure = try LoopbackServer.http(tls: LoopbackTLS(authority.issue(hosts: ["localhost"]))) { _ in
      Self.redirect(location)
    }
    var engine = CurlConfiguration()
    engine.connection.tls.roots = .pem(Array(authority.rootPEM.utf8))
    var configuration = StackConfiguration()
    configuration.redirects = .follow(allowsInsecure: isAllowed)
    let stack = try CurlNetworkStack(engine, configuration: configuration.replayed)
    let resource = RawHTTPResource.raw(try ResourceRequest(url: secure.baseURL, headers: ["Authorization": "secret"]))
    if isAllowed {
      let value = try await stack.fetch(resource)
      #expect(value.value == Data("plain".utf8))
      #expect(plain.requests.map { $0.head["Authorization"] } == [nil])
    } else {
      let error = try await #require(throws: HTTPFetchError<any Error>.self) { try await stack.fetch(resource) }
      #expect(error.words == "redirect/insecure_redirect")
      #expect(plain.acceptedConnections == 0)
    }
    #expect(secure.requests.map { $0.head["Authorization"] } == ["secret"])
  }

  @Test("Credentials do not cross origins, and are not restored on the way back", arguments: [301, 302, 303, 307, 308])
  func crossOrigin(status: Int) async throws {
    let away = try LoopbackServer.http { request in
      Self.redirect("http://127.0.0.1:\(request.queryItem("home") ?? "")/back", status: status)
    }
    let awayURL = away.baseURL + "/away?home="
    let first = try LoopbackServer.http { request in
      guard request.path != "/back" else { return .text("fine") }
      return Self.redirect(awayURL + (request.queryItem("port") ?? ""), status: status)
    }
    var configuration = StackConfiguration()
    configuration.interceptors = [AddsCredentials()]
    let stack = try CurlNetworkStack(configuration: configuration.replayed)
    let value = try await stack.fetch(
      .raw(
        ResourceRequest(
          url: first.baseURL + "/start?port=\(first.port)",
          headers: ["Authorization": "secret", "Cookie": "a=b", "X-Other": "kept"])))
    #expect(value.response.redirects == [awayURL + "\(first.port)", first.baseURL + "/back"])
    #expect(first.requests.map { $0.head["Authorization"] } == ["Bearer again", nil])
    #expect(first.requests.map { $0.head["Cookie"] } == ["a=b", nil])
    #expect(away.requests.map { $0.head["Authorization"] } == [nil])
    #expect(away.requests.map { $0.head["Cookie"] } == [nil])
    #expect((first.requests + away.requests).allSatisfy { $0.head["X-Other"] == "kept" })
  }

  @Test(
    "A POST is rewritten or kept, depending on the status, and sent once to each URL",
    arguments: [301, 302, 303, 307, 308])
  func post(status: Int) async throws {
    let server = try LoopbackServer.http { request in
      request.path == "/end" ? .text("fine") : Self.redirect("/end", status: status)
    }
    let stack = try CurlNetworkStack(configuration: StackConfiguration().replayed)
    _ = try await stack.fetch(
      .raw(ResourceRequest(method: .post, url: server.baseURL + "/start", body: .raw("hello"))))
    let isKept = status >= 307
    #expect(server.requests.map(\.method) == ["POST", isKept ? "POST" : "GET"])
    #expect(server.requests.map(\.text) == ["hello", isKept ? "hello" : ""])
  }

  /// An interceptor that adds a credential to every hop, whatever its origin.
  private struct AddsCredentials: HTTPResourceInterceptor {
    func interceptMakeRequest(
      _ result: Result<ResourceRequest, any Error>, context: AttemptContext
    ) async -> Result<ResourceRequest, any Error> {
      result.map {
        var request = $0
        request.head.headerFields[.authorization] = "Bearer again"
        return request
      }
    }
  }
}
