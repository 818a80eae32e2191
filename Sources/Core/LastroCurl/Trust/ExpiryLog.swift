// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroSupport
internal import Logging

/// Announces client certificates that expire soon: once a day for each certificate.
final class ExpiryLog: Sendable {
  /// The log of all engines and dialers in the process.
  static let shared = ExpiryLog { text, metadata in
    // The handler may block, and callers run on the loop's thread.
    _ = DetachedThread.start { Logger(label: "lastro.engine").warning("\(text)", metadata: metadata) }
  }

  /// The key and the end of a certificate, which identify it. The whole chain would occupy memory for a day.
  private struct Mark: Hashable {
    let pin: SPKIHash
    let end: Date
  }

  /// The maximum number of certificates whose announcements are remembered. Beyond it, all are forgotten.
  private static let mostCertificates = 1_024
  private static let interval: TimeInterval = 86_400

  private let announced = Lock([Mark: Date]())
  private let write: @Sendable (String, Logger.Metadata) -> Void

  /// Creates a log.
  ///
  /// - Parameter write: writes an announcement.
  init(write: @escaping @Sendable (String, Logger.Metadata) -> Void) { self.write = write }

  /// Announces the end of a certificate, if it is near and was not announced in the last 24 hours.
  func note(_ identity: ClientIdentity, at now: Date = .now) {
    guard let expiry = identity.expiry, expiry.isAnnounced(at: now) else { return }
    let mark = Mark(pin: identity.leaf.pin, end: expiry.end)
    let isDue = announced.withLock { announced in
      if let last = announced[mark], now < last + Self.interval { return false }
      if announced.count >= Self.mostCertificates { announced = [:] }
      announced[mark] = now
      return true
    }
    guard isDue else { return }
    var metadata: Logger.Metadata = ["expires": "\(expiry.end.inCalendar)"]
    if let subject = identity.leaf.facts?.shortSubject { metadata["subject"] = "\(subject)" }
    write("a client certificate \(expiry.text(at: now))", metadata)
  }
}
