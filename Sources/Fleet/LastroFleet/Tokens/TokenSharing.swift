// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport

/// The decisions about a shared token, as a value without a clock, tasks or a store.
struct TokenSharing: Sendable, Hashable {
  /// The next step of a call for a token.
  enum Step: Sendable, Hashable {
    /// Use a token that another instance has got.
    case use(AccessToken)
    /// Another instance spends the refresh token: look again after a while, at the latest when its lease ends.
    case wait(Duration)
    /// Write a pair into the store that only this instance knows, and look again.
    case share(TokenRecord)
    /// Announce in the store that this instance spends the refresh token, and then do it.
    case spend(TokenRecord, replacing: AccessToken?)
  }

  /// A pair that this instance knows, with its number.
  private struct Known: Sendable, Hashable {
    var generation: UInt64
    var pair: TokenRecord.Pair
  }

  let name: String
  /// The random name of this instance.
  let instance: String
  let lease: Duration
  /// The newest pair that this instance has seen. It survives the loss of the store.
  private var known: Known?
  /// Whether the application has set another token since the last refresh.
  private var isReplaced = false

  init(name: String, instance: String, lease: Duration) {
    self.name = name
    self.instance = instance
    self.lease = lease
  }

  /// Returns the next step.
  ///
  /// - Parameters:
  ///   - old: the token to replace.
  ///   - record: the state in the store; `nil` if it has none.
  ///   - now: the store's time.
  mutating func decide(replacing old: AccessToken?, _ record: TokenRecord?, at now: Duration) -> Step {
    let now = now.wholeMilliseconds
    var record = record ?? TokenRecord(name: name)
    // The limit keeps a wrong clock from blocking the fleet.
    let isOther = record.spender.map { $0.instance != instance } ?? false
    let left = isOther ? min((record.spender?.until ?? now) - now, lease.wholeMilliseconds) : 0
    // This instance may know a later pair: its store was lost or has lost it.
    let isAhead = update(&record)
    var replaced = old
    if !isReplaced, let pair = record.pair {
      known = Known(generation: record.generation, pair: pair)
      if pair.value != old?.value.reveal(), pair.isValid(at: now), let token = pair.token(at: now) {
        guard isAhead, left <= 0 else { return .use(token) }
        record.spender = nil
        return .share(record)
      }
      replaced = pair.token(at: now) ?? old
    }
    if left > 0 { return .wait(.milliseconds(left)) }
    record.spender = TokenRecord.Spender(instance: instance, until: now + lease.wholeMilliseconds)
    return .spend(record, replacing: replaced)
  }

  /// Takes over the pair that only this instance knows. Returns whether there is one.
  private func update(_ record: inout TokenRecord) -> Bool {
    guard let known, known.generation > record.generation else { return false }
    record.generation = known.generation
    record.pair = known.pair
    return true
  }

  /// Returns the state to write into the store because only this instance knows the pair; `nil` if there is none, or if
  /// another instance spends a token.
  func shared(_ record: TokenRecord?, at now: Duration) -> TokenRecord? {
    var record = record ?? TokenRecord(name: name)
    if let spender = record.spender, spender.instance != instance, spender.until > now.wholeMilliseconds { return nil }
    record.spender = nil
    return update(&record) ? record : nil
  }

  /// Returns whether this instance knows a pair that is later than the store's.
  func isAhead(of record: TokenRecord?) -> Bool { known?.generation ?? 0 > record?.generation ?? 0 }

  /// Returns the token to replace without a store.
  func replacedAlone(_ old: AccessToken?, at now: Duration) -> AccessToken? {
    isReplaced ? old : known?.pair.token(at: now.wholeMilliseconds) ?? old
  }

  /// Returns the state after a refresh, which this instance knows from here on.
  mutating func succeeded(_ record: TokenRecord?, with token: AccessToken, at now: Duration) -> TokenRecord {
    var next = record ?? TokenRecord(name: name)
    next.generation = max(next.generation, known?.generation ?? 0) + 1
    next.pair = TokenRecord.Pair(token, at: now.wholeMilliseconds)
    next.spender = nil
    if let pair = next.pair { known = Known(generation: next.generation, pair: pair) }
    isReplaced = false
    return next
  }

  /// Forgets the pair, because the application has set another token.
  mutating func forget() {
    known = nil
    isReplaced = true
  }
}
