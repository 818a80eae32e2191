// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// The state of a shared quota, as it is kept in a store. Times are in microseconds of the store's clock.
struct QuotaRecord: Sendable, Hashable, Codable {
  /// The units that an instance gives and takes, and the block that it reports.
  struct Request: Sendable, Hashable {
    /// The random name of the instance.
    var instance: String
    /// The number of units that it gives.
    var gives = 0
    /// The number of units that it takes if there are as many.
    var wants = 0
    /// The time for which no instance may send.
    var block = Duration.zero
    /// Whether the instance ends.
    var isLeaving = false
  }

  /// The result of an exchange.
  struct Reply: Sendable, Hashable {
    var granted = 0
    /// The time for which no instance may send.
    var block = Duration.zero
    /// Whether the stock can take no further unit.
    var isFull = false
    /// Whether the stock is less than half full.
    var isScarce = false
    /// The number of instances that the store knows.
    var members = 1
  }

  /// The time for which an instance that is not heard of keeps its fraction: it may run without reaching the store.
  static let absence = Duration.seconds(3600)
  /// The time after which an instance is heard of again.
  private static let presence: Int64 = 100_000_000
  private static let mostMembers = 1000
  /// The longest that the state may lie ahead of the store's clock, for which no units are generated.
  private static let longestLead: Int64 = 1_000_000
  /// The longest that a server may block the fleet.
  static let longestBlock = Duration.seconds(3600)

  /// The number of units in the stock at a time.
  var stock: Double
  var at: Int64
  var blockedUntil: Int64 = 0
  /// The times at which instances were last heard of.
  var members: [String: Int64] = [:]
  /// A random number, which distinguishes two equal changes.
  var change: UInt64 = 0

  /// Returns the state after an exchange; `nil` if it need not be written.
  static func exchange(
    _ record: QuotaRecord?, _ request: Request, _ terms: QuotaTerms, at time: Duration, change: UInt64
  ) -> (next: QuotaRecord?, reply: Reply) {
    let now = time.wholeMicroseconds
    let limit = terms.stockLimit
    var next = record ?? QuotaRecord(stock: limit, at: now)
    next.members = next.members.filter { now - $0.value < absence.wholeMicroseconds }
    let elapsed = Double(max(0, now - next.at)) / 1e6
    next.stock = min(limit, max(0, next.stock) + elapsed * terms.stockPerSecond(members: next.members.count))
    // An instance counts the store's time on from an earlier response, with its own clock, and may be ahead. To go back
    // would generate the units of that time twice.
    next.at = max(now, min(next.at, now + longestLead))
    var mustWrite = record.map { $0.at > next.at } ?? true
    if request.isLeaving {
      mustWrite = next.members.removeValue(forKey: request.instance) != nil || request.gives > 0
    } else if now - (next.members[request.instance] ?? .min / 2) >= presence {
      if next.members.count >= mostMembers, let oldest = next.members.min(by: { $0.value < $1.value }) {
        next.members[oldest.key] = nil
      }
      next.members[request.instance] = now
      mustWrite = true
    }
    let isRefused = next.stock >= limit
    next.stock = min(limit, next.stock + Double(request.gives))
    var reply = Reply(members: max(1, next.members.count))
    reply.granted = min(request.wants, Int(next.stock))
    next.stock -= Double(reply.granted)
    reply.isFull = next.stock > limit - 1
    reply.isScarce = next.stock < limit / 2
    let block = now + min(request.block, longestBlock).wholeMicroseconds
    if request.block > .zero, block > next.blockedUntil {
      next.blockedUntil = block
      mustWrite = true
    }
    if next.blockedUntil > now { reply.block = min(.microseconds(next.blockedUntil - now), longestBlock) }
    guard mustWrite || request.gives > 0 && !isRefused || reply.granted > 0 else { return (nil, reply) }
    next.change = change
    return (next, reply)
  }

  /// The form in which a store keeps the state.
  func encoded() throws(FleetStoreError) -> [UInt8] {
    guard let json = try? JSONEncoder().encode(self) else { throw .unreadableQuota }
    return Array(json)
  }

  /// Reads that form.
  ///
  /// - Throws: ``FleetStoreError`` if the value has another form.
  static func decoded(_ bytes: [UInt8]?) throws(FleetStoreError) -> QuotaRecord? {
    guard let bytes else { return nil }
    // Negative times would overflow.
    guard let record = try? JSONDecoder().decode(Self.self, from: Data(bytes)), record.stock.isFinite,
      record.at >= 0, record.members.values.allSatisfy({ $0 >= 0 })
    else { throw .unreadableQuota }
    return record
  }
}

extension FleetStoreError {
  fileprivate static var unreadableQuota: Self {
    Self(.unreadable, "the shared quota cannot be read", hint: "use another name for the quota")
  }
}
