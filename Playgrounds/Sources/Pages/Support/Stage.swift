// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Lastro
import LastroCurl
import LastroTesting
import Synchronization

/// The environment of every page: a server that replaces api.github.com, and an engine that connects to it.
///
/// The server listens on a Unix socket, and has a certificate for that name from its own root. The engine is configured
/// with both. Samples therefore run unchanged from their guides, over TLS, and no traffic leaves the machine.
struct Stage: Sendable {
  let server: LoopbackServer
  /// The configuration of an engine that opens every connection to the server.
  let engine: CurlConfiguration
  let problems = EventRecorder<String>()

  private let guide: Guide
  private let updating: Bool

  init(page: String, updating: Bool) throws {
    guide = Guide(name: page)
    self.updating = updating
    let path = "\(try Self.directory.get())/\(page).socket"
    let root = try CertificateAuthority(commonName: "Demo root")
    server = try LoopbackServer.demo(
      unixSocketPath: path, tls: LoopbackTLS(root.issue(hosts: ["localhost", "127.0.0.1", "api.github.com"])))
    var engine = CurlConfiguration()
    engine.connection.unixSocketPath = path
    engine.connection.tls.roots = .pem(Array(root.rootPEM.utf8))
    engine.connection.proxy = .none
    self.engine = engine
  }

  /// Returns a new path of a Unix socket for another server. Each call returns a different path.
  func socketPath() throws -> String {
    "\(try Self.directory.get())/\(Self.sockets.add(1, ordering: .relaxed).newValue).socket"
  }

  private static let sockets = Atomic<Int>(0)

  /// The temporary directory of this process, deleted at exit.
  private static let directory = Result<String, any Error> {
    var template = Array("/tmp/lastro-pages-XXXXXX".utf8CString)
    guard let made = mkdtemp(&template) else { throw CocoaError(.fileWriteUnknown) }
    let path = String(cString: made)
    atexit { Stage.removeDirectory() }
    return path
  }

  private static func removeDirectory() {
    if case .success(let path) = directory { try? FileManager.default.removeItem(atPath: path) }
  }

  /// Returns a stack that sends its requests to the server.
  func github(_ configuration: StackConfiguration = StackConfiguration()) throws -> CurlNetworkStack {
    try CurlNetworkStack(engine, configuration: configuration)
  }

  /// Prints whether a claim of the guide holds, and records it as a problem if it does not.
  func check(_ claim: String, _ holds: Bool) {
    say("\(holds ? "✓" : "✗") \(claim)")
    if !holds { problems.record(claim) }
  }

  /// Runs a sample, and checks that its output is the text in the guide below `<!-- prints: NAME -->`. Values such as
  /// times and connection numbers may differ. `path` is a path of this run that the guide shows as
  /// `/etc/shop/pins.json`.
  func prints(_ name: String, path: String? = nil, _ sample: () async throws -> Void) async rethrows {
    transcript.removeAll()
    try await sample()
    let socket = engine.connection.unixSocketPath ?? ""
    // The socket path is replaced by an address for documentation (RFC 5737).
    var text = transcript.removeAll().joined(separator: "\n").replacing(socket, with: "192.0.2.1")
    if let path { text = text.replacing(path, with: "/etc/shop/pins.json") }
    if updating {
      do { try guide.replace(name, with: text) } catch { problems.record("\(error)") }
    }
    guard let expected = guide.printed(name) else {
      return check("the guide shows what is printed (<!-- prints: \(name) -->)", false)
    }
    let isSame = Guide.comparable(expected) == Guide.comparable(text)
    check("as the guide says", isSame)
    if !isSame { say("✗ \(name) printed:\n\(text)") }
  }

  /// The number of requests for a token.
  var tokenRequests: Int { server.requests.count { $0.path == "/oauth/token" } }

  /// Returns the requests that the server has read after the first `count`.
  func requests(since count: Int = 0) -> [String] {
    server.requests.dropFirst(count).map { "\($0.method) \($0.target)" }
  }
}
