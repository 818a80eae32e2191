// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// What a host is known by: the key of the certificate that it presented, and until when that certificate is valid.
public struct GeminiKnownHost: Sendable, Hashable {
  /// SHA-256 of the key.
  public var pin: SPKIHash
  /// The end of the certificate's validity, to the second. Until then, another key is a change that the user has to
  /// decide on.
  public var expires: Date

  /// Makes one. The date is kept to the second.
  public init(pin: SPKIHash, expires: Date) {
    self.pin = pin
    self.expires = Date(timeIntervalSince1970: expires.timeIntervalSince1970.rounded(.down))
  }
}

/// Where the keys of hosts are remembered, for trust on first use: ``GeminiMemoryKnownHosts``,
/// ``GeminiKnownHostsFile``, or one of the application's own.
///
/// Clients ask it before they connect, and tell it after a handshake has succeeded. Any thread may call it. A client
/// that is cancelled, or whose total limit has passed, does not wait for the answer; the call runs on in a cancelled
/// task.
public protocol GeminiKnownHosts: Sendable {
  /// What a host is known by; `nil` for one that was never seen.
  ///
  /// - Throws: when that cannot be told. Nothing is sent then.
  func knownHost(_ host: GeminiHost) async throws(GeminiKnownHostsError) -> GeminiKnownHost?

  /// Remembers a host by `new`, or forgets it where that is `nil`; but only if it is known by `old` still, so that of
  /// two tasks that meet a host for the first time, one learns what the other saw.
  ///
  /// - Returns: whether it is done; false when the host is known by something else than `old` meanwhile.
  /// - Throws: when it cannot be remembered. The request that met the host fails then.
  func replace(
    _ host: GeminiHost, _ old: GeminiKnownHost?, with new: GeminiKnownHost?
  ) async throws(GeminiKnownHostsError) -> Bool
}

/// Why known hosts cannot be read or remembered. A client makes it stage `trust`, code `known_hosts_failed`.
public struct GeminiKnownHostsError: Error, Sendable, Hashable, CustomStringConvertible {
  /// A line that cannot be understood.
  public struct Line: Sendable, Hashable {
    /// From 1.
    public var number: Int
    /// What is wrong with it.
    public var problem: String
  }

  /// What is wrong.
  public var message: String
  /// How to fix it.
  public var hint: String?
  /// The lines of a file that cannot be understood; the first hundred.
  public var lines: [Line]

  /// Makes an error, for stores of one's own.
  public init(_ message: String, hint: String? = nil, lines: [Line] = []) {
    self.message = message
    self.hint = hint
    self.lines = lines
  }

  /// Message and hint on one line.
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

/// Known hosts in memory, which are forgotten with it.
public final class GeminiMemoryKnownHosts: GeminiKnownHosts {
  private let hosts: Lock<[GeminiHost: GeminiKnownHost]>

  /// Makes a store.
  public init(_ hosts: [GeminiHost: GeminiKnownHost] = [:]) { self.hosts = Lock(hosts) }

  /// All of them.
  public var all: [GeminiHost: GeminiKnownHost] { hosts.withLock { $0 } }

  /// What a host is known by.
  ///
  /// - Throws: never: the store is memory.
  public func knownHost(_ host: GeminiHost) async throws(GeminiKnownHostsError) -> GeminiKnownHost? {
    hosts.withLock { $0[host] }
  }

  /// Remembers a host, or forgets it.
  ///
  /// - Throws: never: the store is memory.
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
