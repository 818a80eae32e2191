// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Lastro
import LastroHAR
import LastroSupport

/// The file in which `proxy` records exchanges.
final class ProxyArchive: Sendable {
  /// The limit of the entries. It leaves room for the notation of JSON in a private file.
  static let maximumBytes = 12 << 20
  /// The number of exchanges up to which the file is written after each, and the number of exchanges between later
  /// writes.
  private static let (early, interval) = (100, 50)

  private struct State {
    var latest = HAR(entries: [])
    var received = 0
    var hasFailed = false
  }

  private let path: String
  private let state = Lock(State())

  init(_ path: String) { self.path = path }

  /// Writes an empty archive.
  ///
  /// - Throws: the exit status, after a message.
  func check() throws { try finish() }

  func receive(_ archive: HAR) {
    let isDue = state.withLock { state in
      state.latest = archive
      state.received += 1
      return state.received <= Self.early || state.received % Self.interval == 0
    }
    guard isDue else { return }
    do { try write() } catch {
      let isFirst = state.withLock { state in
        defer { state.hasFailed = true }
        return !state.hasFailed
      }
      if isFirst { tell(error) }
    }
  }

  /// Writes all exchanges.
  ///
  /// - Throws: the exit status, after a message.
  func finish() throws {
    do { try write() } catch {
      tell(error)
      throw ExitCode.failure
    }
  }

  private func write() throws {
    let archive = state.withLock { $0.latest }
    try PrivateFile(path).replace(with: String(decoding: archive.json(), as: UTF8.self))
  }

  private func tell(_ error: any Error) {
    Console.error("lastro: cannot write \(path.onOneLine): \(LocalServer.words(error).onOneLine)")
  }
}
