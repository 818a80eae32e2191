// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import LastroHTTP
import LastroStreamsTesting
import LastroTesting
import LastroWire
import TestSupport
import Testing

@testable import Lastro
@testable import LastroCurl
@testable import LastroTransports
@testable import LastroTunnels
@testable import LastroWebSocket

/// Calls that are refused before anything is sent, by stage and code.
@Suite("Refused calls", .timeLimit(.minutes(15)))
struct RefusedCallsTests {
  @Test("A dial needs a port, TLS where a certificate is asked for, and a stream where TLS or a socket's path is set")
  func dials() async throws {
    var configuration = CurlConfiguration()
    configuration.connection.proxy = .none
    let transport = try CurlTransport(configuration)
    let engine = transport
    let tls = DialRequest(host: "a.example", port: 1, tls: DialRequest.TLS())
    var socket = ConnectionOptions()
    socket.unixSocketPath = "/run/a"
    let datagrams = DialRequest(host: "a.example", port: 1, connection: socket)
    #expect(await words { try await transport.inspect("http://a.example/") } == "request/unsupported_scheme")
    #expect(
      await words { try await transport.inspect("https://a.example/", timeout: .zero) } == "request/invalid_option")
    #expect(await words { try await engine.dialDatagrams(tls) } == "request/unsupported")
    #expect(await words { try await engine.dialDatagrams(datagrams) } == "request/unsupported")
    #expect(await words { try await engine.dial(DialRequest(host: "a.example", port: 0)) } == "request/invalid_option")
    #expect(await words { try tls.refuseTLS() } == "request/unsupported")
  }

  @Test("TLS over a stream refuses stapled responses, identities that cannot be read, and hosts that are not hosts")
  func securedDials() async {
    let secured = TLSDialer(over: NowhereDialer())
    var stapled = ConnectionOptions()
    stapled.tls.requiresStapledStatus = true
    var identified = ConnectionOptions()
    identified.tls.identity = TLSOptions.Identity(certificate: .file("/nowhere/a.pem"))
    for (options, expected) in [(stapled, "request/unsupported"), (identified, "tls/invalid_tls_configuration")] {
      let request = DialRequest(host: "a.example", port: 1, tls: DialRequest.TLS(), connection: options)
      #expect(await words { try await secured.dial(request) } == expected)
    }
    let unnamed = DialRequest(host: "a b", port: 1, tls: DialRequest.TLS())
    #expect(await words { try await secured.dial(unnamed) } == "request/invalid_option")
    #expect(await words { try await NowhereDialer().dial(unnamed) } == "request/unsupported")
    #expect(await words { try await NowhereDialer().dialDatagrams(unnamed) } == "request/unsupported")
  }

  @Test("A WebSocket refuses pings, close codes and reasons that RFC 6455 does not allow")
  func openSocket() async throws {
    let server = try LoopbackWebSocketServer()
    let client = WebSocketClient(dialer: CurlNetworkStack.sharedDialer)
    let socket = try await client.connect("ws://127.0.0.1:\(server.port)/")
    let calls: [() async throws -> Void] = [
      { try await socket.ping(Data(count: 126)) }, { try await socket.close(WebSocketCloseCode(rawValue: 1006)) },
      { try await socket.close(nil, reason: "a") },
      { try await socket.close(.normal, reason: String(repeating: "a", count: 124)) },
    ]
    for (index, call) in calls.enumerated() {
      do {
        try await call()
        Issue.record("call \(index) must throw")
      } catch let error as WebSocketError {
        #expect(error.description.hasPrefix("request/invalid_option: "), "call \(index)")
      }
    }
    socket.cut()
  }

  @Test("The handshake of a WebSocket is a GET without a body, whose key the client makes")
  func handshake() async throws {
    let handshake = WebSocketHandshakeTransport(
      dialer: NowhereDialer(), configuration: WebSocketConfiguration(), random: .seeded(1), time: .continuous)
    let post = HTTPRequest(method: .post, scheme: "https", authority: "a.example", path: "/")
    #expect(await words { try await handshake.execute(TransferRequest(head: post)) } == "request/invalid_method")
    let get = HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: "/")
    #expect(
      await words { try await handshake.execute(TransferRequest(head: get, body: .raw([1]))) } == "request/invalid_body"
    )
    var keyed = get
    keyed.headerFields[.secWebSocketKey] = "k"
    let error = #expect(throws: TransportError.self) {
      try WebSocketHandshake(nonce: (1, 2)).request(keyed)
    }
    #expect(error?.words == "request/invalid_header")
  }

  @Test("A stack refuses a base URL with a query or without a scheme, and credentials for every server")
  func defaults() async throws {
    struct Below: HTTPResourceEndpoint { var path: String? { "items" } }
    let edits: [((inout StackConfiguration) -> Void, String)] = [
      ({ _ in }, "request/invalid_url"), ({ $0.baseURL = "https://a.example/?x=1" }, "request/invalid_url"),
      ({ $0.baseURL = "a.example" }, "request/invalid_url"),
      ({ $0.headers = [.authorization: "Bearer t"] }, "request/invalid_header"),
    ]
    for (edit, expected) in edits {
      let stack = TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(200)), configure: edit)
      let error = try await stack.failure(of: RawHTTPResource.raw(Below()))
      #expect(error.words == expected)
    }
  }
}
