// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Lastro
import LastroCurl
import LastroTesting
import Synchronization

/// What every page gets: a server that stands for api.github.com, and an engine that finds it.
///
/// The server listens on a Unix socket and has a certificate for that name from a root of its own; the engine is given
/// both. So samples run as they stand in their guides, over TLS, and nothing leaves the machine.
struct Stage: Sendable {
  let server: DemoAPI
  /// An engine whose every connection goes to the server.
  let engine: CurlConfiguration
  let problems = EventRecorder<String>()

  private let guide: Guide
  private let updating: Bool

  init(page: String, updating: Bool) throws {
    guide = Guide(name: page)
    self.updating = updating
    let path = "\(try Self.directory.get())/\(page).socket"
    server = try DemoAPI.start(on: .unixSocket(path: path), hosts: ["api.github.com"])
    var engine = CurlConfiguration()
    engine.connection.unixSocketPath = path
    engine.connection.tls.roots = .pem(Array(server.caPEM.utf8))
    engine.connection.proxy = .none
    self.engine = engine
  }

  /// Where another server may listen: another path each time.
  func socketPath() throws -> String {
    "\(try Self.directory.get())/\(Self.sockets.add(1, ordering: .relaxed).newValue).socket"
  }

  private static let sockets = Atomic<Int>(0)

  /// Of this process alone.
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

  /// A stack that speaks to the server.
  func github(_ configuration: StackConfiguration = StackConfiguration()) throws -> CurlNetworkStack {
    try CurlNetworkStack(engine, configuration: configuration)
  }

  /// A claim of the guide.
  func check(_ claim: String, _ holds: Bool) {
    say("\(holds ? "✓" : "✗") \(claim)")
    if !holds { problems.record(claim) }
  }

  /// Runs a sample, and checks that it prints what the guide says below `<!-- prints: NAME -->`. Times, numbers of
  /// connections and the like may differ. A `path` of this run is `/etc/shop/pins.json` in the guide.
  func prints(_ name: String, path: String? = nil, _ sample: () async throws -> Void) async rethrows {
    transcript.removeAll()
    try await sample()
    let socket = engine.connection.unixSocketPath ?? ""
    // An address for documentation (RFC 5737), in place of the socket that stands for the API.
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

  /// The requests that the server has read since there were `count`.
  func requests(since count: Int = 0) -> [String] {
    server.requests.dropFirst(count).map { "\($0.method) \($0.target)" }
  }
}
