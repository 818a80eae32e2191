// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import Lastro
import LastroCurl
import LastroEveryday
import LastroGemini
import LastroHTTP
import LastroStreamsTesting
import LastroTesting
import LastroTransports
import LastroTunnels
import LastroWebSocket
import PeerSupport
import TestSupport
import Testing

/// Client certificates that change while WebSockets, event streams and other streams are in use.
@Suite("Renewed client certificates over streams", .timeLimit(.minutes(15)))
struct RenewedIdentityOverStreamsTests {
  /// The component that adds TLS to the streams, and the path to the server.
  enum Way: String, CaseIterable, Sendable { case engine, httpsProxy, tlsDialer, tunnel }

  /// The place from which the certificate comes.
  enum Source: String, CaseIterable, Sendable { case files, application }

  private let lab: TestAuthority
  private let directory: PeerDirectory
  private let rotating = RotatingIdentity(TLSOptions.Identity(certificate: .bytes([])))

  init() throws {
    lab = try TestAuthority()
    directory = try PeerDirectory()
  }

  private var tls: LoopbackTLS {
    get throws {
      var tls = try lab.tls()
      tls.clientAuthoritiesPEM = lab.authority.rootPEM
      return tls
    }
  }

  /// Supplies a certificate from a source, and waits until files are checked again; that happens once a second at most.
  private func renew(_ name: String, _ source: Source = .application) async throws {
    let certificate = try lab.authority.issue(hosts: [], commonName: name)
    switch source {
    case .files:
      try directory.write(certificate.chainPEM, to: "client.pem")
      try directory.write(certificate.privateKeyPEM, to: "client.key")
      try await Task.sleep(for: .milliseconds(1_100))
    case .application:
      rotating.replace(
        with: .init(
          certificate: .bytes(Array(certificate.chainPEM.utf8)), key: .bytes(Array(certificate.privateKeyPEM.utf8))))
    }
  }

  private func identity(_ source: Source) -> TLSOptions.Identity {
    switch source {
    case .files: .init(certificate: .file(directory.file("client.pem")), key: .file(directory.file("client.key")))
    case .application: .init(rotating)
    }
  }

  /// Returns a dialer whose streams present the certificate of a source.
  private func dialer(_ way: Way, _ source: Source, proxy: LoopbackServer? = nil) throws -> any Dialer {
    let options = lab.options {
      $0.tls.identity = identity(source)
      if let proxy, way == .httpsProxy { $0.proxy = .url(proxy.baseURL) }
    }
    switch way {
    case .engine, .httpsProxy: return try TestAuthority.engine { $0.connection = options }
    case .tlsDialer: return lab.base.addingTLS(connection: options)
    case .tunnel:
      let proxy = try ProxyServer(host: "127.0.0.1", port: #require(proxy).port)
      return try HTTPConnectDialer(proxy: proxy, over: lab.base).addingTLS(connection: options)
    }
  }

  private func proxy(_ way: Way) throws -> LoopbackServer? {
    switch way {
    case .engine, .tlsDialer: nil
    case .httpsProxy: try .tunnel(tls: lab.tls())
    case .tunnel: try .tunnel()
    }
  }

  private func client(_ dialer: any Dialer, _ configuration: WebSocketConfiguration = .patient) -> WebSocketClient {
    WebSocketClient(dialer: dialer, configuration: configuration, stack: .patient)
  }

  private func connect(_ client: WebSocketClient, _ server: LoopbackWebSocketServer) async throws -> WebSocket {
    try await client.connect("https://localhost:\(server.port)/")
  }

  @Test(
    "A new WebSocket presents the renewed certificate, and an open one continues",
    arguments: Way.allCases, Source.allCases)
  func webSockets(way: Way, source: Source) async throws {
    let server = try LoopbackWebSocketServer(tls: tls), proxy = try proxy(way)
    try await renew("old", source)
    let client = client(try dialer(way, source, proxy: proxy))
    let first = try await connect(client, server)
    try await renew("new", source)
    let second = try await connect(client, server)
    #expect(server.clients == ["old", "new"])
    for socket in [first, second] {
      var messages = socket.messages.makeAsyncIterator()
      try await socket.send("hello")
      #expect(try await messages.next() == .text("hello"))
    }
    #expect(try await first.waitUntilOutdated())
    let wait = Task { try await second.waitUntilOutdated() }
    try await second.close()
    #expect(try await wait.value == false)
  }

  @Test("A new Gemini request presents the renewed certificate", arguments: Source.allCases)
  func gemini(source: Source) async throws {
    let server = try LoopbackGeminiServer(
      identity: CertificateMint.selfSigned(hosts: ["localhost"]), clientAuthoritiesPEM: lab.authority.rootPEM
    ) { _ in .success("hello") }
    try await renew("old", source)
    var configuration = GeminiConfiguration()
    configuration.connectTimeout = .seconds(600)
    configuration.headerTimeout = .seconds(600)
    let client = GeminiClient(dialer: lab.base, configuration: configuration)
    client.addIdentity(identity(source), for: try GeminiURL(server.url("/")))
    #expect(try await client.fetch(server.url("/")).collected().text == "hello")
    try await renew("new", source)
    #expect(try await client.fetch(server.url("/")).collected().text == "hello")
    #expect(server.clients == ["old", "new"])
  }

  // MARK: notification

  @Test("The wait for a change returns when the certificate is replaced, and keeps the socket open")
  func notified() async throws {
    let server = try LoopbackWebSocketServer(tls: tls)
    try await renew("old")
    let client = client(try dialer(.engine, .application))
    let socket = try await connect(client, server)
    let waits = (0..<3).map { _ in Task { try await socket.waitUntilOutdated() } }
    let cancelled = Task { try await socket.waitUntilOutdated() }
    cancelled.cancel()
    await #expect(throws: WebSocketError.self) { try await cancelled.value }
    try await renew("new")
    for wait in waits { #expect(try await wait.value) }
    #expect(socket.isOpen)
  }

  @Test("A wait for a change returns false when the server closes the socket, and at once when it is closed")
  func closed() async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.onMessage = { _ in [.close(1000, "")] }
    let server = try LoopbackWebSocketServer(tls: tls, behavior)
    try await renew("old")
    let client = client(try dialer(.engine, .application))
    let socket = try await connect(client, server)
    let wait = Task { try await socket.waitUntilOutdated() }
    try await socket.send("end")
    #expect(try await wait.value == false)
    #expect(try await socket.waitUntilOutdated() == false)
  }

  @Test("Reconnecting sockets are replaced when the certificate has changed, which is no loss")
  func reconnecting() async throws {
    let server = try LoopbackWebSocketServer(tls: tls)
    try await renew("old")
    var configuration = WebSocketConfiguration.patient
    configuration.reconnectsWhenOutdated = true
    let client = client(try dialer(.engine, .application), configuration)
    // A loss would end the sequence.
    let sockets = client.reconnecting(
      to: "https://localhost:\(server.port)/", policy: .backoff(.constant(delay: .zero, until: .maxRetries(0))))
    var waits = 0
    var names = ["old", "new", "newest"][...]
    for try await event in sockets {
      switch event {
      case .opened(let socket):
        #expect(server.clients.last == names.popFirst())
        guard let next = names.first else {
          try await socket.close()
          continue
        }
        try await renew(next)
        for try await _ in socket.messages {}
        #expect(try await socket.waitForEnd().code == .goingAway)
      case .waiting(let delay, _, _):
        // Files are checked again after a second.
        #expect(delay > .seconds(1) && delay <= .seconds(3))
        waits += 1
      }
    }
    #expect(waits == 2 && server.clients == ["old", "new", "newest"])
  }

  @Test("Without the option, reconnecting sockets stay open when the certificate has changed")
  func notReconnecting() async throws {
    let server = try LoopbackWebSocketServer(tls: tls)
    try await renew("old")
    let client = client(try dialer(.engine, .application))
    for try await event in client.reconnecting(to: "https://localhost:\(server.port)/") {
      guard case .opened(let socket) = event else { continue }
      try await renew("new")
      #expect(try await socket.waitUntilOutdated())
      var messages = socket.messages.makeAsyncIterator()
      try await socket.send("hello")
      #expect(try await messages.next() == .text("hello"))
      try await socket.close()
    }
    #expect(server.clients == ["old"])
  }

  @Test("The wait on a network connection returns when its certificate is replaced, or the connection has ended")
  func connections() async throws {
    let names = EventRecorder<String?>()
    let server = try LoopbackServer(tls: tls) { connection in
      names.record(connection.clientName)
      try connection.echo()
    }
    let dialer = try dialer(.engine, .application)
    func connect() async throws -> NetworkConnection {
      let port = try #require(ConnectionEndpoint.Port("\(server.port)"))
      let parameters = ConnectionParameters.tls
      parameters.connectTimeout = .seconds(600)
      let connection = NetworkConnection(
        to: .hostPort(host: .init("localhost"), port: port), using: parameters, dialer: dialer)
      try await connection.start()
      try await connection.send(Data("x".utf8))
      _ = try await connection.receive()
      return connection
    }
    try await renew("old")
    let first = try await connect()
    let wait = Task { try await first.waitUntilOutdated() }
    try await renew("new")
    #expect(try await wait.value)
    let second = try await connect()
    #expect(names.events == ["old", "new"])
    let other = Task { try await second.waitUntilOutdated() }
    let cancelled = Task { try await second.waitUntilOutdated() }
    cancelled.cancel()
    await #expect(throws: ConnectionError.self) { try await cancelled.value }
    second.cancel()
    #expect(try await other.value == false)
    #expect(try await second.waitUntilOutdated() == false)
  }

  /// Returns a server that sends one event with the client's name and the `Last-Event-ID`, then another when a gate is
  /// opened.
  private func eventServer(_ gate: LoopbackGate, hasIDs: Bool) throws -> LoopbackServer {
    try LoopbackServer(tls: tls) { connection in
      guard let request = try connection.readRequest() else { return }
      let id = request.head.values("Last-Event-ID").first
      let field = hasIDs ? "id: \(connection.number)\n" : ""
      try connection.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nretry: 100\n\n")
      try connection.write("\(field)data: \(connection.clientName ?? "nobody") after \(id ?? "nothing")\n\n")
      connection.wait(for: gate)
      try connection.write("\(field)data: more\n\n")
      connection.stall()
    }
  }

  @Test("An event stream reconnects between two events when the certificate has changed", arguments: Way.allCases)
  func events(way: Way) async throws {
    let gate = try LoopbackGate()
    let server = try eventServer(gate, hasIDs: true), proxy = try proxy(way)
    try await renew("old")
    let stack = TransportNetworkStack(
      transport: try DialerTransport(over: dialer(way, .application, proxy: proxy)), configuration: .patient)
    let stream = stack.events(.get("https://localhost:\(server.port)/"))
    let waits = Task {
      var causes: [String?] = []
      for await state in stream.states {
        if case .waiting(_, let cause) = state { causes.append(cause?.message) }
      }
      return causes
    }
    var events = Optional(stream.makeAsyncIterator())
    #expect(try await events?.next()?.data == "old after nothing")
    try await renew("new")
    #expect(try await events?.next()?.data == "new after 1")
    gate.open()
    #expect(try await events?.next()?.data == "more")
    #expect(server.acceptedConnections == 2)
    // The iterator is the stream's reader, whose end ends the states. A lost connection would be the cause of a wait.
    events = nil
    #expect(await waits.value == [nil])
  }

  @Test("The reconnection of an event stream for a new certificate does not count as a loss")
  func uncountedEvents() async throws {
    let server = try LoopbackServer(tls: tls) { connection in
      guard try connection.readRequest() != nil else { return }
      try connection.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nretry: 100\n\n")
      // The second connection, which replaces the first one, is lost.
      if connection.number == 2 { return }
      try connection.write("id: 1\ndata: \(connection.clientName ?? "nobody")\n\n")
      connection.stall()
    }
    try await renew("old")
    let engine = try TestAuthority.engine { $0.connection = lab.options { $0.tls.identity = identity(.application) } }
    let stack = CurlNetworkStack(sharing: engine, configuration: .patient)
    var events = stack.events(.get("https://localhost:\(server.port)/"), maximumReconnections: 1).makeAsyncIterator()
    #expect(try await events.next()?.data == "old")
    try await renew("new")
    #expect(try await events.next()?.data == "new")
    #expect(server.acceptedConnections == 3)
  }

  @Test("An event stream without identifiers, or that does not reconnect, keeps its connection")
  func keptEvents() async throws {
    for hasIDs in [false, true] {
      let gate = try LoopbackGate()
      let server = try eventServer(gate, hasIDs: hasIDs)
      try await renew("old")
      let engine = try TestAuthority.engine { $0.connection = lab.options { $0.tls.identity = identity(.application) } }
      let stack = CurlNetworkStack(sharing: engine, configuration: .patient)
      let stream = stack.events(.get("https://localhost:\(server.port)/"), maximumReconnections: hasIDs ? 0 : nil)
      var events = stream.makeAsyncIterator()
      #expect(try await events.next()?.data == "old after nothing")
      try await renew("new")
      gate.open()
      #expect(try await events.next()?.data == "more")
      #expect(server.acceptedConnections == 1)
    }
  }
}
