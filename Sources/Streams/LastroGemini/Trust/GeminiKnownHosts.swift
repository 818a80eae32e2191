// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import Lastro
internal import LastroSupport

/// The known key of a host, from the certificate that it presented, and the expiry of that certificate.
public struct GeminiKnownHost: Sendable, Hashable {
  /// The SHA-256 hash of the key.
  public var pin: SPKIHash
  /// The expiry of the certificate, to the second. Until then, the user must decide about a different key.
  public var expires: Date

  /// Creates a known host. The date is truncated to the second.
  public init(pin: SPKIHash, expires: Date) {
    self.pin = pin
    self.expires = Date(timeIntervalSince1970: expires.timeIntervalSince1970.rounded(.down))
  }
}

/// A store of host keys for trust on first use: ``GeminiMemoryKnownHosts``, ``GeminiKnownHostsFile``, or a custom one.
///
/// Clients query it before they connect, and update it after a successful handshake. It may be called from any thread.
/// A client that is cancelled, or whose total limit has passed, does not wait for the result; the call continues in a
/// cancelled task.
public protocol GeminiKnownHosts: Sendable {
  /// Returns the known key of a host; `nil` if the host was never seen.
  ///
  /// - Throws: an error if the key cannot be determined; nothing is sent in that case.
  func knownHost(_ host: GeminiHost) async throws(GeminiKnownHostsError) -> GeminiKnownHost?

  /// Stores `new` for a host, or removes the host if it is `nil`, but only if the stored value still is `old`. If two
  /// tasks meet a host for the first time, one of them thus learns which key the other stored.
  ///
  /// - Returns: whether the value was replaced; false if the stored value is no longer `old`.
  /// - Throws: an error if the value cannot be stored; the request to the host fails in that case.
  func replace(
    _ host: GeminiHost, _ old: GeminiKnownHost?, with new: GeminiKnownHost?
  ) async throws(GeminiKnownHostsError) -> Bool
}

/// The reason why known hosts cannot be read or stored. A client reports it as stage `trust`, code
/// `known_hosts_failed`.
public struct GeminiKnownHostsError: Error, Sendable, Hashable, CustomStringConvertible {
  /// A line that cannot be parsed.
  public struct Line: Sendable, Hashable {
    /// The line number, from 1.
    public var number: Int
    /// The problem with the line.
    public var problem: String
  }

  /// The problem.
  public var message: String
  /// A remedy.
  public var hint: String?
  /// The lines of a file that cannot be parsed; at most the first hundred.
  public var lines: [Line]

  /// Creates an error, for custom stores.
  public init(_ message: String, hint: String? = nil, lines: [Line] = []) {
    self.message = message
    self.hint = hint
    self.lines = lines
  }

  /// The message and the hint on one line.
  public var description: String { message + (hint.map { " (\($0))" } ?? "") }
}

extension GeminiKnownHostsError {
  init(_ failure: PrivateFile.Failure, _ path: String) {
    switch failure {
    case .system(let words, let reason, let hint): self.init("\(words) \(path): \(reason)", hint: hint)
    case .unfit:
      self.init("\(path) is not a file of known hosts", hint: "name a regular file of at most 16 MiB")
    case .notText: self.init("\(path) is not UTF-8", hint: "name a file of known hosts, or mend it")
    case .tooLarge(let count):
      self.init("the known hosts for \(path) have \(count) bytes, above the maximum of 16 MiB", hint: "remove hosts")
    }
  }
}

/// A store of known hosts in memory.
public final class GeminiMemoryKnownHosts: GeminiKnownHosts {
  private let hosts: Lock<[GeminiHost: GeminiKnownHost]>

  /// Creates a store.
  public init(_ hosts: [GeminiHost: GeminiKnownHost] = [:]) { self.hosts = Lock(hosts) }

  /// All known hosts.
  public var all: [GeminiHost: GeminiKnownHost] { hosts.withLock { $0 } }

  /// Returns the known key of a host.
  ///
  /// - Throws: never, because the store is in memory.
  public func knownHost(_ host: GeminiHost) async throws(GeminiKnownHostsError) -> GeminiKnownHost? {
    hosts.withLock { $0[host] }
  }

  /// Stores a host, or removes it.
  ///
  /// - Throws: never, because the store is in memory.
  public func replace(
    _ host: GeminiHost, _ old: GeminiKnownHost?, with new: GeminiKnownHost?
  ) async throws(GeminiKnownHostsError) -> Bool {
    hosts.withLock { hosts in
      guard hosts[host] == old else { return false }
      hosts[host] = new
      return true
    }
  }
}
