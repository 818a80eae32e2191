// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroTesting
import TestSupport
import Testing

@Suite("Loopback server over TLS", .timeLimit(.minutes(15)))
struct LoopbackTLSTests {
  let root: CertificateAuthority
  let identity: MintedCertificate

  init() throws {
    root = try CertificateAuthority()
    identity = try root.intermediate().issue(hosts: ["localhost", "127.0.0.1"])
  }

  @Test("The client verifies the chain, and the server knows what was negotiated")
  func handshake() throws {
    var tls = LoopbackTLS(identity)
    tls.applicationProtocols = ["h2", "http/1.1"]
    let server = try LoopbackServer(tls: tls) { connection in
      _ = try connection.readHead()
      let facts = [connection.tlsVersion, connection.serverName, connection.applicationProtocol, connection.clientName]
      try connection.write(facts.map { $0 ?? "-" }.joined(separator: " "))
    }
    let client = try LoopbackClient(to: server.endpoint, trusting: root.rootPEM, protocols: ["x", "http/1.1"])
    try client.send("GET / HTTP/1.1\r\n\r\n")
    let (text, ending) = client.receiveAll()
    #expect(text == "TLSv1.3 localhost http/1.1 -")
    #expect(ending == .orderly)
    #expect(server.establishedConnections == 1)
    #expect(server.baseURL == "https://localhost:\(server.port)")
  }

  @Test("A signal does not end the reading of a client")
  func signals() async throws {
    let gate = try LoopbackGate()
    let server = try LoopbackServer(tls: LoopbackTLS(identity)) { connection in
      connection.wait(for: gate)
      try connection.write("hello")
    }
    let (endpoint, roots) = (server.endpoint, root.rootPEM)
    let text = try await interrupting {
      try LoopbackClient(to: endpoint, trusting: roots).receiveAll().text
    } release: {
      gate.open()
    }
    #expect(text == "hello")
    server.stop()
    #expect(server.errors.isEmpty)
  }

  @Test(
    "The versions can be limited",
    arguments: [
      (TLSOptions.Version.v1_0, "TLSv1"), (.v1_1, "TLSv1.1"), (.v1_2, "TLSv1.2"), (.v1_3, "TLSv1.3"),
    ])
  func versions(_ version: TLSOptions.Version, _ name: String) throws {
    var tls = LoopbackTLS(identity)
    tls.minimumVersion = version
    tls.maximumVersion = version
    let server = try LoopbackServer(tls: tls) { try $0.write($0.tlsVersion ?? "-") }
    #expect(try LoopbackClient(to: server.endpoint, trusting: root.rootPEM).receiveAll().text == name)
  }

  @Test("A client refuses an untrusted, a mismatching and an expired certificate")
  func refusals() throws {
    let server = try LoopbackServer(tls: LoopbackTLS(identity)) { $0.stall() }
    let other = try CertificateAuthority()
    #expect(throws: LoopbackError.self) { try LoopbackClient(to: server.endpoint, trusting: other.rootPEM) }
    #expect(throws: LoopbackError.self) {
      try LoopbackClient(to: server.endpoint, host: "elsewhere", trusting: root.rootPEM)
    }
    let expired = try root.issue(hosts: ["localhost"], days: -366 ... -1)
    let old = try LoopbackServer(tls: LoopbackTLS(expired)) { $0.stall() }
    #expect(throws: LoopbackError.self) { try LoopbackClient(to: old.endpoint, trusting: root.rootPEM) }
    old.stop()
    #expect(old.establishedConnections == 0)
    #expect(old.errors.count == 1)
  }

  @Test("A required client certificate is requested and verified")
  func clientCertificate() throws {
    let clients = try CertificateAuthority(commonName: "Clients")
    var tls = LoopbackTLS(identity)
    tls.clientAuthoritiesPEM = clients.rootPEM
    let server = try LoopbackServer(tls: tls) { try $0.write($0.clientName ?? "-") }
    let known = try clients.issue(hosts: [], commonName: "alice")
    let client = try LoopbackClient(to: server.endpoint, trusting: root.rootPEM, identity: known)
    #expect(client.receiveAll().text == "alice")
    // With TLS 1.3 the client's handshake is complete before the server rejects it, so its first read reports that.
    let anonymous = try? LoopbackClient(to: server.endpoint, trusting: root.rootPEM)
    #expect(anonymous?.receiveAll().text ?? "" == "")
    server.stop()
    #expect(server.establishedConnections == 1)
    #expect(server.errors.count == 1)
  }

  @Test("Each way to end a connection is seen by the client as intended")
  func endings() throws {
    let server = try LoopbackServer(tls: LoopbackTLS(identity)) { connection in
      let word = connection.readLine()
      try connection.write("data")
      switch word {
      case "truncate": connection.closeWithoutNotify()
      case "reset": connection.reset()
      case "notify":
        connection.closeNotify()
        connection.stall()
      default: connection.close()
      }
    }
    let cases: [(String, LoopbackClient.Ending)] = [
      ("close", .orderly), ("truncate", .truncated), ("notify", .orderly), ("reset", .reset),
    ]
    for (word, ending) in cases {
      let client = try LoopbackClient(to: server.endpoint, trusting: root.rootPEM)
      try client.send(word + "\n")
      let (text, found) = client.receiveAll()
      #expect(found == ending, "\(word)")
      // A reset may discard data that was sent before it.
      #expect(text == "data" || ending == .reset, "\(word)")
    }
  }

  @Test(
    "A handshake fails as configured, and the handler does not run",
    arguments: [
      LoopbackTLS.HandshakeFault.stallInHandshake, .resetInHandshake, .closeInHandshake, .plaintextInsteadOfTLS,
    ])
  func faults(_ fault: LoopbackTLS.HandshakeFault) async throws {
    let server = try LoopbackServer(tls: LoopbackTLS(identity, handshakeFault: fault)) { _ in
      Issue.record("the handler ran")
    }
    let endpoint = server.endpoint
    let roots = root.rootPEM
    let client = Task.detached { _ = try LoopbackClient(to: endpoint, trusting: roots) }
    try await server.waitForConnections(count: 1)
    if fault == .stallInHandshake { server.stop() }
    await #expect(throws: LoopbackError.self) { try await client.value }
    #expect(server.establishedConnections == 0)
  }

  @Test(
    "Each handshake fault sends its documented bytes",
    arguments: [
      (LoopbackTLS.HandshakeFault.resetInHandshake, "", LoopbackClient.Ending.reset),
      (.closeInHandshake, "", .orderly),
      (.plaintextInsteadOfTLS, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", .orderly),
    ])
  func faultBytes(_ fault: LoopbackTLS.HandshakeFault, _ text: String, _ ending: LoopbackClient.Ending) throws {
    let server = try LoopbackServer(tls: LoopbackTLS(identity, handshakeFault: fault)) { _ in }
    let client = try LoopbackClient(to: server.endpoint)
    try client.send("\u{16}\u{3}\u{1}\u{0}\u{3}abc")
    let answer = client.receiveAll()
    #expect(answer.text == text)
    #expect(answer.ending == ending)
  }

  @Test("A write to a disconnected client does not kill the process")
  func brokenPipe() async throws {
    let server = try LoopbackServer(tls: LoopbackTLS(identity)) { connection in
      while true { try connection.write("more") }
    }
    var client: LoopbackClient? = try LoopbackClient(to: server.endpoint, trusting: root.rootPEM)
    _ = client?.receive()
    client = nil
    #expect(await eventually { !server.errors.isEmpty })
    #expect(server.errors.map { $0 as? LoopbackError } == [.disconnected])
  }
}
