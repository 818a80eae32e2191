// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
public import Lastro
internal import LastroTesting
public import LastroTransports

/// A suite that checks whether the connections of a factory keep the promises of `Connection`. It is meant for authors
/// of transports, and needs no test framework.
///
/// The connections must lead to a peer that sends every byte back, and ends its direction when this side ends its own;
/// ``echo(_:)`` is one.
///
/// ```swift
/// let dialer = MemoryDialer { _, stream in try await ConnectionConformance.echo(stream) }
/// let base = DialerConnectionFactory(to: .hostPort(host: "echo", port: 7), dialer: dialer)
/// let factory = MyTransportFactory(factory: base)
/// try await ConnectionConformance(of: factory).check()
/// ```
public struct ConnectionConformance: Sendable {
  /// A broken promise.
  public struct Finding: Error, Sendable, Hashable, CustomStringConvertible {
    /// The promise that was broken.
    public var promise: String
    /// The observed behavior.
    public var problem: String

    /// The promise and the problem on one line.
    public var description: String { "\(promise): \(problem)" }
  }

  let factory: any ConnectionFactory
  let parameters: ConnectionParameters
  let patience: Duration
  let bigLength: Int
  private let omitted: Set<String>

  /// Creates a suite.
  ///
  /// - Parameters:
  ///   - factory: creates a connection for every promise; each is started once.
  ///   - parameters: the parameters that are passed to the factory, with a connect limit of at least `patience`.
  ///   - bigLength: the number of bytes that are sent at once and echoed. Default 1 MiB.
  ///   - patience: the time after which a missing event counts as a hang. Default 60 s.
  ///   - omitted: promises that the transport cannot keep, such as ``promisesOfEnds``. Default: none.
  public init(
    of factory: any ConnectionFactory, using parameters: ConnectionParameters = .tcp, bigLength: Int = 1 << 20,
    patience: Duration = .seconds(60), leavingOut omitted: Set<String> = []
  ) {
    self.factory = factory
    self.parameters = parameters.copy()
    if let limit = parameters.connectTimeout, limit < patience { self.parameters.connectTimeout = patience }
    self.bigLength = bigLength
    self.patience = patience
    self.omitted = omitted
  }

  /// Sends back every byte of a stream, then ends this direction when the other side ends its own.
  ///
  /// - Throws: the errors of the stream.
  public static func echo(_ stream: any ByteStream) async throws {
    while let bytes = try await stream.read() { try await stream.write(bytes) }
    try await stream.finishWriting()
  }

  /// The promises, by name, in the order in which they are checked.
  public static var promises: [String] { checks.map(\.name) }

  /// The promises of a transport that informs its server when this side ends its direction; meek and obfs4 cannot.
  public static var promisesOfEnds: Set<String> { Set(checks.filter(\.needsEnd).map(\.name)) }

  /// Checks every promise, one after the other.
  ///
  /// - Returns: the broken promises; none for a correct connection.
  public func findings() async -> [Finding] {
    var findings: [Finding] = []
    for check in kept {
      if let finding = await finding(check) { findings.append(finding) }
    }
    return findings
  }

  /// Checks every promise.
  ///
  /// - Throws: the first `Finding`.
  public func check() async throws {
    for check in kept {
      if let finding = await finding(check) { throw finding }
    }
  }

  private var kept: [Check] { Self.checks.filter { !omitted.contains($0.name) } }

  private func finding(_ check: Check) async -> Finding? {
    guard let connection = factory.connect(using: parameters) else {
      return Finding(promise: check.name, problem: "the factory made no connection")
    }
    let subject = ConnectionSubject(connection, patience: patience)
    do throws(ConnectionSubject.Problem) {
      try await check.run(self, subject)
      try await subject.cancelAndCount()
      return nil
    } catch {
      connection.cancel()
      return Finding(promise: check.name, problem: error.text)
    }
  }

  struct Check: Sendable {
    typealias Run =
      @Sendable (ConnectionConformance, ConnectionSubject) async throws(ConnectionSubject.Problem) -> Void

    var name: String
    var needsEnd = false
    var run: Run
  }
}
