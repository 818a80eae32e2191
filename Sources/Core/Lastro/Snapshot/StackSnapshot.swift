// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
internal import LastroSupport

/// The state of a stack at one moment: its connections, circuits, limits and quotas, as JSON or as text for people.
///
/// ```swift
/// for part in stack.snapshot.parts where part.kind == "breaker" { print(part.subject, part.values["state"] ?? "") }
/// ```
///
/// Nothing is collected for it: the state is read from the parts that decide, when it is asked for.
public struct StackSnapshot: Sendable, Equatable, Codable, CustomStringConvertible {
  /// A number or a text. JSON has it as that.
  public enum Value: Sendable, Equatable {
    case number(Double)
    case text(String)
  }

  /// The state of one part of a stack, for one server or key.
  public struct Part: Sendable, Equatable, Codable {
    /// The kind of the part: `pool`, `breaker`, `limiter`, `pacer`, `quota` or `endpoint`. Later versions may add kinds.
    public var kind: String
    /// The server or the key, without secrets.
    public var subject: String
    /// The values by name. Later versions may add names.
    public var values: [String: Value]

    /// Creates a part.
    public init(kind: String, subject: String, values: [String: Value]) {
      self.kind = kind
      self.subject = subject
      self.values = values
    }
  }

  /// The time at which the snapshot was taken, in seconds since 1970.
  public var time: TimeInterval
  /// The parts, sorted by kind and subject.
  public var parts: [Part]

  /// Creates a snapshot.
  public init(time: TimeInterval, parts: [Part]) {
    self.time = time
    self.parts = parts.sorted { ($0.kind, $0.subject) < ($1.kind, $1.subject) }
  }

  /// A line for each part, such as `pool https://api.example.com: active 1, idle 3`.
  public var description: String {
    parts.map { part in
      let values = part.values.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
      return "\(part.kind) \(part.subject): \(values.joined(separator: ", "))"
    }.joined(separator: "\n")
  }
}

extension StackSnapshot.Value: CustomStringConvertible {
  /// The number, without a fraction if it has none, or the text.
  public var description: String {
    switch self {
    case .number(let number): Int(exactly: number).map(String.init) ?? "\(number)"
    case .text(let text): text
    }
  }
}

extension StackSnapshot.Value: Codable {
  /// Reads a number or a text.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let number = try? container.decode(Double.self) {
      self = .number(number)
    } else {
      self = .text(try container.decode(String.self))
    }
  }

  /// Writes a number or a text.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .number(let number): try container.encode(number)
    case .text(let text): try container.encode(text)
    }
  }
}

extension StackSnapshot.Value: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
  /// Creates a number.
  public init(integerLiteral number: Int) { self = .number(Double(number)) }

  /// Creates a text.
  public init(stringLiteral text: String) { self = .text(text) }

  /// Creates a number from a count.
  package static func count(_ count: Int) -> Self { .number(Double(count)) }

  /// Creates a number of seconds from a duration, to the millisecond.
  package static func seconds(_ duration: Duration) -> Self {
    .number((duration / .milliseconds(1)).rounded() / 1_000)
  }
}

/// A part of a stack that takes part in its snapshots.
package protocol SnapshotSource: Sendable {
  /// Returns the state at this moment. It may be called from any thread, and must not block for long.
  func snapshotParts() -> [StackSnapshot.Part]
}

extension TransportNetworkStack {
  /// The state at this moment of the transport and of the layers above it: resilience, for example.
  ///
  /// It may be read from any thread.
  public var snapshot: StackSnapshot {
    var sources: [any SnapshotSource] = [transport as? any SnapshotSource].compactMap(\.self)
    for place in TransportLayerPlace.allCases {
      if let layer = configuration.layers[place] as? any SnapshotSource { sources.append(layer) }
    }
    return StackSnapshot(time: Date().timeIntervalSince1970, parts: sources.flatMap { $0.snapshotParts() })
  }

  /// Serves ``snapshot`` on a Unix socket until the task is cancelled. `lastro top PATH` shows it, and each HTTP client
  /// can read it as JSON: `curl --unix-socket PATH http://localhost`.
  ///
  /// The socket has mode 0600. A socket that an ended process has left at the path is replaced, and the socket is removed
  /// when the function returns. A thread of its own answers one client at a time, within seconds.
  ///
  /// - Parameter path: the path of the socket, of at most 107 bytes, in a directory that exists.
  /// - Throws: ``ConfigurationError`` if the socket cannot be made, for example because another process serves there.
  public func serveSnapshot(at path: String) async throws(ConfigurationError) {
    let server = try SnapshotServer(path: path) { snapshot }
    try server.start()
    await withTaskCancellationHandler {
      await server.ended.wait()
    } onCancel: {
      server.end()
    }
  }
}
