// SPDX-License-Identifier: Apache-2.0

/// The challenges that an authenticator answers without being asked again: one for each realm of an origin.
///
/// A machine: it decides in values, and its owner holds a lock around it.
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
    /// Whether it was used in vain. It is kept for its count: the server may offer the nonce again.
    var isOver = false
  }

  /// Most realms of an origin.
  static let realms = 16

  /// The realm that asked last comes first.
  private var entries: [Origin: [Entry]] = [:]
  /// The origins that responded to a request without credentials, and not by a challenge.
  private(set) var unchallenged: Set<Origin> = []

  /// The last turn of a realm, not counted again; `nil` when no challenge is known.
  ///
  /// - Parameter realm: default: the one that asked last.
  func current(at origin: Origin, realm: String? = nil) -> Turn? {
    guard let index = index(of: realm, at: origin), let entry = entries[origin]?[index] else { return nil }
    return Turn(challenge: entry.challenge, count: entry.count, session: entry.session)
  }

  /// Counts a request; `nil` when no challenge is known, or its count is used up.
  mutating func turn(at origin: Origin, realm: String? = nil) -> Turn? {
    guard let index = index(of: realm, at: origin), let count = entries[origin]?[index].count else { return nil }
    guard count < .max else {
      entries[origin]?.remove(at: index)
      return nil
    }
    entries[origin]?[index].count = count + 1
    return current(at: origin, realm: realm)
  }

  /// Notes that an origin responded to a request without credentials, and not by a challenge.
  mutating func noteUnchallenged(_ origin: Origin) { unchallenged.insert(origin) }

  /// Takes in a challenge, unless one of its realm is known that the refused request did not use: another call was
  /// faster, and its nonce is as good. A nonce that comes again goes on with its count: servers take a count that comes
  /// twice for a replay.
  ///
  /// - Parameters:
  ///   - refused: the nonce that was refused; `nil` when the request had none.
  ///   - clientNonce: what a `-sess` algorithm begins with.
  ///   - count: number of requests sent with the nonce before.
  mutating func begin(
    _ challenge: DigestChallenge, at origin: Origin, refused: String?, clientNonce: String, count: UInt32 = 0
  ) {
    unchallenged.remove(origin)
    var known = entries[origin] ?? []
    defer { entries[origin] = Array(known.prefix(Self.realms)) }
    let session = DigestAnswer.Session(nonce: challenge.nonce, clientNonce: clientNonce)
    var entry = Entry(challenge: challenge, count: count, session: challenge.algorithm.isSession ? session : nil)
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

  /// Goes over to the next nonce. A session keeps what it began with (RFC 7616 §3.4.2).
  mutating func advance(to nonce: String, from used: String, at origin: Origin, realm: String) {
    guard nonce != used, let index = index(of: realm, at: origin), entries[origin]?[index].challenge.nonce == used
    else { return }
    entries[origin]?[index].challenge.nonce = nonce
    entries[origin]?[index].count = 0
  }

  /// Answers no more with a nonce that was used in vain.
  mutating func end(_ nonce: String, at origin: Origin, realm: String) {
    guard let index = index(of: realm, at: origin), entries[origin]?[index].challenge.nonce == nonce else { return }
    entries[origin]?[index].isOver = true
  }

  private func index(of realm: String?, at origin: Origin) -> Int? {
    entries[origin]?.firstIndex { !$0.isOver && (realm == nil || $0.challenge.realm == realm) }
  }
}
