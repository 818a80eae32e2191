// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import PeerSupport
import TestSupport
import Testing

@Suite("nginx and Python: redirects", .peers(.nginx, .python), .timeLimit(.minutes(15)))
struct RedirectPeerTests {
  private func nginx(_ path: String) throws -> String { "http://127.0.0.1:\(try Peers.nginx.ports.plain)\(path)" }

  @Test("A chain of redirects is followed, and every hop is reported", arguments: [1, 5, 20])
  func chain(hops: Int) async throws {
    let answer = try await CurlNetworkStack.direct().send(.get, nginx("/redirect/\(hops)"))
    #expect(answer.text == #"{"message":"hello"}"#)
    #expect(answer.response.url.hasSuffix("/json"))
    #expect(answer.response.redirects.count == hops)
    #expect(answer.response.redirects.last == answer.response.url)
  }

  @Test("More than 20 redirects fail; the limit is configurable, and with no redirects the 3xx is returned")
  func limits() async throws {
    let stack = try CurlNetworkStack.direct()
    let error = try await failure { try await stack.send(.get, nginx("/redirect/21")) }
    #expect(error.words == "redirect/too_many_redirects")
    var options = RequestOptions()
    options.redirects = .follow(limit: 2)
    let lower = try await failure { try await stack.send(.get, nginx("/redirect/3"), options: options) }
    #expect(lower.words == "redirect/too_many_redirects")
    options.redirects = RedirectPolicy.none
    let none = try await failure { try await stack.send(.get, nginx("/redirect/3"), options: options) }
    #expect(none.statusCode?.code == 302)
    #expect(none.response?.headerFields[.location] != nil)
  }

  @Test("A redirect loop is detected")
  func loop() async throws {
    let stack = try CurlNetworkStack.direct()
    let error = try await failure { try await stack.send(.get, nginx("/redirect/loop")) }
    #expect(error.words == "redirect/redirect_loop")
  }

  @Test("Another port is another origin: credentials are dropped, other fields are kept")
  func credentials() async throws {
    let target = "http://127.0.0.1:\(try Peers.python.port)/echo"
    let answer = try await CurlNetworkStack.direct().send(
      .get, nginx("/redirect-to?to=\(target)"),
      headers: ["Authorization": "Bearer secret", "Cookie": "a=b", "X-Test": "kept"])
    let echo = try JSONDecoder().decode(PeerEcho.self, from: answer.value)
    #expect(echo.values("authorization").isEmpty)
    #expect(echo.values("cookie").isEmpty)
    #expect(echo.values("x-test") == ["kept"])
    #expect(echo.values("host") == ["127.0.0.1:\(try Peers.python.port)"])
    #expect(answer.response.redirects == [target])
  }

  @Test("Within the origin credentials are kept")
  func sameOrigin() async throws {
    let answer = try await CurlNetworkStack.direct().send(
      .get, nginx("/redirect-to?to=/echo"), headers: ["Authorization": "Bearer secret"])
    #expect(answer.text.split(separator: "\n").contains("Bearer secret"))
  }

  @Test("A POST becomes a GET on 301, 302 and 303, and stays a POST with its body on 307 and 308")
  func methods() async throws {
    let stack = try CurlNetworkStack.direct()
    for status in [301, 302, 303] {
      let answer = try await stack.send(.post, nginx("/status/\(status)"), body: .raw("x"))
      #expect(answer.text == #"{"message":"hello"}"#)
    }
    for status in [307, 308] {
      _ = try? await stack.send(.post, nginx("/status/\(status)"), body: .raw("x"))
    }
    // nginx writes its log line after it has sent the answer.
    let peer = try Peers.nginx
    func methods() -> [Substring] {
      peer.accessLog().filter { $0.contains(" /json ") }.compactMap { $0.split(separator: " ").dropFirst().first }
    }
    #expect(await eventually { methods().filter { $0 == "POST" }.count >= 2 })
    #expect(methods().filter { $0 == "POST" }.count == 2)
    #expect(methods().filter { $0 == "GET" }.count >= 3)
  }

  @Test("Redirects from https to http, and to URLs other than http, are refused")
  func refused() async throws {
    let peer = try Peers.nginx
    let stack = try CurlNetworkStack.direct { $0.connection.tls.roots = .file(peer.certificates.authority) }
    let base = "https://localhost:\(peer.ports.tls)/redirect-to?to="
    let insecure = try await failure { try await stack.send(.get, base + nginx("/json")) }
    #expect(insecure.words == "redirect/insecure_redirect")
    for target in [
      "ftp://127.0.0.1/", "file:///etc/passwd", "https://user:word@localhost/", "https://localhost:99999/",
    ] {
      let error = try await failure { try await stack.send(.get, base + target) }
      #expect(error.words == "redirect/invalid_redirect", "\(target)")
    }
    // A redirect from http to https is allowed.
    let up = try await stack.send(.get, nginx("/redirect-to?to=https://localhost:\(peer.ports.tls)/json"))
    #expect(up.response.url == "https://localhost:\(peer.ports.tls)/json")
  }

  @Test("A failed hop is reported as that hop's failure")
  func failingHop() async throws {
    let stack = try CurlNetworkStack.direct()
    let port = try Loopback.freePort()
    let dead = try await failure {
      try await stack.send(.get, nginx("/redirect-to?to=http://127.0.0.1:\(port)/"))
    }
    #expect(dead.words == "connect/connect_failed")
    let missing = try await failure { try await stack.send(.get, nginx("/redirect-to?to=/status/404")) }
    #expect(missing.statusCode?.code == 404)
  }
}
