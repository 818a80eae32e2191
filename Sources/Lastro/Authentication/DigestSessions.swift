// SPDX-License-Identifier: Apache-2.0

/// The challenges that an authenticator answers without being asked again: one an origin.
///
/// A machine: it decides in values, and whoever owns it holds a lock around it.
struct DigestSessions: Sendable {
  /// What one request is answered with.
  struct Turn: Sendable {
    var challenge: DigestChallenge
    /// Number of requests sent with the nonce, this one included.
    var count: UInt32
    /// What a `-sess` algorithm began with.
    var session: DigestAnswer.Session?
  }

  private struct Entry {
    var challenge: DigestChallenge
    var count: UInt32 = 0
    var session: DigestAnswer.Session?
  }

  private var entries: [Origin: Entry] = [:]

  /// The last turn at an origin, not counted again; `nil` when no challenge is known.
  func current(at origin: Origin) -> Turn? {
    entries[origin].map { Turn(challenge: $0.challenge, count: $0.count, session: $0.session) }
  }

  /// Counts a request; `nil` when no challenge is known, or its count is used up.
  mutating func turn(at origin: Origin) -> Turn? {
    guard var entry = entries[origin] else { return nil }
    guard entry.count < .max else {
      entries[origin] = nil
      return nil
    }
    entry.count += 1
    entries[origin] = entry
    return Turn(challenge: entry.challenge, count: entry.count, session: entry.session)
  }

  /// Takes in a challenge, unless one is known that the refused request did not use: another call was faster, and its
  /// nonce is as good.
  ///
  /// - Parameters:
  ///   - refused: the nonce that was refused; `nil` when the request had none.
  ///   - clientNonce: what a `-sess` algorithm begins with.
  ///   - count: number of requests sent with the nonce before.
  mutating func begin(
    _ challenge: DigestChallenge, at origin: Origin, refused: String?, clientNonce: String, count: UInt32 = 0
  ) {
    if let known = entries[origin]?.challenge.nonce, known != refused { return }
    let session = DigestAnswer.Session(nonce: challenge.nonce, clientNonce: clientNonce)
    entries[origin] = Entry(
      challenge: challenge, count: count, session: challenge.algorithm.isSession ? session : nil)
  }

  /// Goes over to the next nonce. A session keeps what it began with (RFC 7616 §3.4.2).
  mutating func advance(to nonce: String, from used: String, at origin: Origin) {
    guard entries[origin]?.challenge.nonce == used else { return }
    entries[origin]?.challenge.nonce = nonce
    entries[origin]?.count = 0
  }

  /// Forgets a challenge whose nonce was used in vain.
  mutating func end(_ nonce: String, at origin: Origin) {
    if entries[origin]?.challenge.nonce == nonce { entries[origin] = nil }
  }
}
