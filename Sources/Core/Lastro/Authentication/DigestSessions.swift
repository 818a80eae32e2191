// SPDX-License-Identifier: Apache-2.0

/// The challenges that an authenticator can answer in advance, one for each realm of an origin.
///
/// This is a state machine over values; its owner protects it with a lock.
struct DigestSessions: Sendable {
  /// The challenge and the count with which one request is authenticated.
  struct Turn: Sendable {
    var challenge: DigestChallenge
    /// The number of requests sent with the nonce, including this one.
    var count: UInt32
    /// The nonces with which the session of a `-sess` algorithm began.
    var session: DigestAnswer.Session?
    /// Whether the server refused the nonce. The entry is kept for its count, because the server may offer the nonce
    /// again.
    var isOver = false
  }

  /// The maximum number of realms of an origin.
  static let realms = 16

  /// The last turns of each origin, with the realm of the latest challenge first.
  private var entries: [Origin: [Turn]] = [:]
  /// The origins that responded to a request without credentials and did not send a challenge.
  private(set) var unchallenged: Set<Origin> = []

  /// Returns the last turn of a realm without counting another request; `nil` if no challenge is known.
  ///
  /// - Parameter realm: the realm. Default: the realm of the latest challenge.
  func current(at origin: Origin, realm: String? = nil) -> Turn? {
    index(of: realm, at: origin).flatMap { entries[origin]?[$0] }
  }

  /// Counts a request and returns its turn; `nil` if no challenge is known, or if its count is used up.
  mutating func turn(at origin: Origin, realm: String? = nil) -> Turn? {
    guard let index = index(of: realm, at: origin), let count = entries[origin]?[index].count else { return nil }
    guard count < .max else {
      entries[origin]?.remove(at: index)
      return nil
    }
    entries[origin]?[index].count = count + 1
    return current(at: origin, realm: realm)
  }

  /// Records that an origin responded to a request without credentials and did not send a challenge.
  mutating func markUnchallenged(_ origin: Origin) { unchallenged.insert(origin) }

  /// Stores a challenge. If a challenge of the same realm is known that the refused request did not use, that one is
  /// kept: another call was faster, and its nonce is as good. A nonce that is offered again continues its count,
  /// because servers treat a repeated count as a replay.
  ///
  /// - Parameters:
  ///   - refused: the nonce that was refused; `nil` if the request had none.
  ///   - clientNonce: the client nonce with which the session of a `-sess` algorithm begins.
  ///   - count: the number of requests already sent with the nonce.
  mutating func storeChallenge(
    _ challenge: DigestChallenge, at origin: Origin, refused: String?, clientNonce: String, count: UInt32 = 0
  ) {
    unchallenged.remove(origin)
    var known = entries[origin] ?? []
    defer { entries[origin] = Array(known.prefix(Self.realms)) }
    let session = DigestAnswer.Session(nonce: challenge.nonce, clientNonce: clientNonce)
    var entry = Turn(challenge: challenge, count: count, session: challenge.algorithm.isSession ? session : nil)
    if let index = known.firstIndex(where: { $0.challenge.realm == challenge.realm }) {
      let old = known.remove(at: index)
      if old.challenge.nonce == challenge.nonce {
        entry.count = max(count, old.count)
        if challenge.algorithm == old.challenge.algorithm { entry.session = old.session }
      } else if !old.isOver, old.challenge.nonce != refused {
        entry = old
      }
    }
    known.insert(entry, at: 0)
  }

  /// Replaces a nonce with the next one. A session keeps the nonces with which it began (RFC 7616 §3.4.2).
  mutating func advance(to nonce: String, from used: String, at origin: Origin, realm: String) {
    guard nonce != used, let index = index(of: realm, at: origin), entries[origin]?[index].challenge.nonce == used
    else { return }
    entries[origin]?[index].challenge.nonce = nonce
    entries[origin]?[index].count = 0
  }

  /// Stops using a nonce that the server refused.
  mutating func retireNonce(_ nonce: String, at origin: Origin, realm: String) {
    guard let index = index(of: realm, at: origin), entries[origin]?[index].challenge.nonce == nonce else { return }
    entries[origin]?[index].isOver = true
  }

  private func index(of realm: String?, at origin: Origin) -> Int? {
    entries[origin]?.firstIndex { !$0.isOver && (realm == nil || $0.challenge.realm == realm) }
  }
}
