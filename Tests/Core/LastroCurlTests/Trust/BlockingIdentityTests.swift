// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import Glibc
import HTTPTypes
import Lastro
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@testable import LastroCurl

/// Files of client certificates that block or cannot be read.
@Suite("Trust: client certificates that are not available", .timeLimit(.minutes(15)))
struct BlockingIdentityTests {
  private let lab: TestAuthority
  private let directory: PeerDirectory
  private let pipe: String

  init() throws {
    lab = try TestAuthority()
    directory = try PeerDirectory()
    pipe = directory.file("pipe")
    #expect(mkfifo(pipe, 0o600) == 0)
  }

  private func server() throws -> LoopbackServer {
    var tls = LoopbackTLS(try lab.identity("localhost"))
    tls.clientAuthoritiesPEM = lab.authority.rootPEM
    tls.maximumVersion = .v1_2
    return try LoopbackServer(tls: tls) { connection in
      let name = connection.clientName ?? "nobody"
      try connection.serveHTTP { _ in .text(name) }
    }
  }

  private func stack() throws -> CurlNetworkStack {
    try CurlNetworkStack.direct {
      $0.connection.tls.roots = lab.roots
    }
  }

  private func options(_ identity: TLSOptions.Identity, connect: Duration? = nil) throws -> RequestOptions {
    var options = RequestOptions.connection {
      $0.tls.roots = lab.roots
      $0.tls.identity = identity
    }
    if let connect {
      options.timeouts = try Timeouts(connect: connect, attempt: nil, idle: .seconds(600), total: .seconds(900))
    }
    return options
  }

  /// Opens the pipe for writing, which succeeds once a reader has opened it. Writes the text, and closes the pipe.
  private func feed(_ text: String, to path: String? = nil) async -> Bool {
    var descriptor: Int32 = -1
    let isOpen = await eventually {
      descriptor = open(path ?? pipe, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
      return descriptor >= 0
    }
    guard isOpen else { return false }
    defer { close(descriptor) }
    return write(descriptor, text, text.utf8.count) == text.utf8.count
  }

  @Test("A certificate that does not become available delays only its own request, which ends at its own limit")
  func silentPipe() async throws {
    let plain = try LoopbackServer.http { _ in .text("answer") }
    let secure = try server()
    let stack = try stack()
    let identity = TLSOptions.Identity(certificate: .file(pipe))
    let patient = try options(identity), hasty = try options(identity, connect: .milliseconds(200))
    async let blocked = failure { try await stack.send(.get, secure.baseURL, options: patient) }
    #expect(
      try await failure { try await stack.send(.get, secure.baseURL, options: hasty) }.words
        == "timeout/connect_timeout")
    let other = Task { try await stack.send(.get, plain.baseURL).text }
    let watch = Task {
      try? await Task.sleep(for: .seconds(60))
      if !Task.isCancelled { other.cancel() }
    }
    #expect(try await other.value == "answer")
    watch.cancel()
    #expect(await feed(""))
    let error = try await blocked
    #expect(error.words == "tls/invalid_tls_configuration" && error.hint != nil)
    #expect(secure.acceptedConnections == 0)
    #expect(await eventually { openFiles(named: "pipe") == 0 })
  }

  /// Makes every thread that reads client certificates wait for a pipe, and returns the pipes' paths.
  private func occupyReaders() throws -> [String] {
    try (0..<16).map { number in
      let path = directory.file("pipe \(number)")
      try #require(mkfifo(path, 0o600) == 0)
      TLSFileReader.submit(TLSFileRequest(identities: [.init(source: .init(certificate: .file(path)))])) { _ in }
      return path
    }
  }

  @Test("Unavailable certificates keep no other connection from its roots")
  func otherRoots() async throws {
    let pipes = try occupyReaders()
    let server = try LoopbackServer.http(tls: LoopbackTLS(lab.identity("localhost"))) { _ in .text("answer") }
    let path = try directory.write(lab.authority.rootPEM, to: "roots.pem")
    let stack = try CurlNetworkStack.direct { $0.connection.tls.roots = .file(path) }
    #expect(try await stack.send(.get, server.baseURL).text == "answer")
    for pipe in pipes { #expect(await feed("", to: pipe)) }
  }

  @Test("A request that ends while files are checked again holds up no other")
  func slowLook() async throws {
    let secure = try server()
    let stack = try stack()
    let client = try lab.authority.issue(hosts: [], commonName: "client")
    let path = try directory.write(client.chainPEM + client.privateKeyPEM, to: "client.pem")
    let identity = TLSOptions.Identity(certificate: .file(path))
    let patient = try options(identity)
    #expect(try await stack.send(.get, secure.baseURL, options: patient).text == "client")
    var hasty = patient
    hasty.timeouts = try Timeouts(attempt: .milliseconds(200), total: .milliseconds(200))
    // Files are checked once a second at most.
    try await Task.sleep(for: .milliseconds(1_100))
    // All threads that read files wait for pipes, so the next check waits, too.
    let pipes = try occupyReaders()
    #expect(try await failure { try await stack.send(.get, secure.baseURL, options: hasty) }.stage == .timeout)
    for pipe in pipes { #expect(await feed("", to: pipe)) }
    #expect(try await stack.send(.get, secure.baseURL, options: patient).text == "client")
  }

  @Test("A certificate and key from a pipe serve every connection")
  func pipe() async throws {
    let secure = try server()
    let stack = try stack()
    let client = try lab.authority.issue(hosts: [], commonName: "client")
    let options = try options(.init(certificate: .file(pipe)))
    async let first = stack.send(.get, secure.baseURL, options: options).text
    #expect(await feed(client.chainPEM + client.privateKeyPEM))
    #expect(try await first == "client")
    secure.closeConnections()
    #expect(try await stack.send(.get, secure.baseURL, options: options).text == "client")
  }

  @Test("A path that is not a file of reasonable size is refused and holds nothing up")
  func unfitFiles() async throws {
    let secure = try server()
    let stack = try stack()
    let key = try lab.authority.issue(hosts: [], commonName: "client")
    let large = try directory.write(String(repeating: "a", count: (1 << 20) + 1), to: "large")
    let empty = try directory.write("", to: "empty")
    let mute = try directory.write("no PEM", to: "mute")
    let certificate = try directory.write(key.chainPEM, to: "certificate")
    for path in [
      "/dev/zero", "/dev/tty", directory.path, "/nowhere/client.pem", "a\0b", large, empty, mute, certificate,
    ] {
      let error = try await failure {
        try await stack.send(.get, secure.baseURL, options: options(.init(certificate: .file(path))))
      }
      #expect(error.words == "tls/invalid_tls_configuration" && error.hint != nil, "\(path)")
    }
    #expect(secure.acceptedConnections == 0)
  }

  /// Returns the number of descriptors of this process that refer to a file of the test's.
  private func openFiles(named name: String) -> Int {
    let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    return entries.count { entry in
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(entry)")) == directory.file(name)
    }
  }
}
