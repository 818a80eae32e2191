// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroTesting
import TestSupport
import Testing

@testable import LastroCurl
@testable import LastroHTTP

/// The kind of link below the connections of an engine. The engine itself is the same over each of them.
enum LinkKind: String, CaseIterable, Codable, Sendable {
  /// A `SocketLink`: a socket that libcurl connects, with libcurl's TLS.
  case socket
  /// A `StreamLink`: a stream that libcurl dials, with libcurl's TLS.
  case stream
  /// A `StreamLink` with Lastro's own TLS over a plain stream that libcurl dials.
  case tlsStream

  /// The link of the running test case, which ``OverEachLink`` sets.
  @TaskLocal static var current = LinkKind.socket

  /// Whether the engine notices all input that the kernel has received on an idle connection before it sends the next
  /// request there. A socket can be asked for it. The input of a stream reaches the link only when a task has resumed
  /// that reads the stream.
  var seesInputAtOnce: Bool { self == .socket }

  /// Whether TLS sessions may be resumed. The chains of dialed streams are recorded, and a resumed session has none.
  var mayResumeSessions: Bool { self == .socket }

  /// Returns an engine over such links. Its transfers are recorded if the test case is.
  func engine(_ edit: (inout CurlConfiguration) -> Void = { _ in }) throws -> any LinkedEngine {
    try plainEngine(edit).recorded
  }

  private func plainEngine(_ edit: (inout CurlConfiguration) -> Void) throws -> any LinkedEngine {
    var configuration = CurlConfiguration()
    edit(&configuration)
    guard self != .socket else { return try CurlTransport(configuration) }
    var settings = try configuration.checked().engine
    // Without the judge, which the dialer asks anyway.
    settings.connection = configuration.connection
    settings.connection?.tls.trustJudge = nil
    guard self == .tlsStream else {
      return try DialerTransport(over: CurlTransport(configuration), configuration: settings)
    }
    let tls = configuration.connection
    configuration.connection.tls = TLSOptions()
    return try DialerTransport(
      over: TLSDialer(over: CurlTransport(configuration), connection: tls), configuration: settings)
  }

  /// Returns a stack over an engine with such links.
  func stack(
    _ edit: (inout CurlConfiguration) -> Void = { _ in }, configuration: StackConfiguration = .patient
  ) throws -> TransportNetworkStack {
    let engine = try engine {
      $0.connection.proxy = .none
      edit(&$0)
    }
    return TransportNetworkStack(transport: engine, configuration: configuration.replayed)
  }
}

extension LoopbackServer {
  /// Waits, if the links require it, until the client has closed an idle connection because of input that no request
  /// asked for.
  func waitForClosing() async -> Bool {
    if LinkKind.current.seesInputAtOnce { return true }
    return await eventually { openConnections == 0 }
  }
}

/// A transport made of the engine, with its number of running exchanges.
protocol LinkedEngine: Transport {
  var activeTransfers: Int { get }

  func shutDown(cancelling: Bool) async
}

extension LinkedEngine {
  /// The engine, which records its transfers if the running test case is recorded.
  var recorded: any LinkedEngine {
    RecordedScenario.recorder.map { RecordedEngine(base: self, recorder: $0) } ?? self
  }
}

extension CurlTransport: LinkedEngine {}

extension DialerTransport: LinkedEngine {
  var activeTransfers: Int { (try? port().activeJobs) ?? 0 }
}
