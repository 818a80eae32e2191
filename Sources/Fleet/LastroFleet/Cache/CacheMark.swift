// SPDX-License-Identifier: Apache-2.0

/// The state of the responses of a URL in the store, at the time when it was read.
struct CacheMark: Sendable, Hashable {
  /// The number of the cache, which a removal of all responses replaces.
  var epoch: UInt64
  /// The number of the URL's responses, which a removal of all of them replaces.
  var generation: UInt64
  /// The time of the store at which the state was read, in microseconds.
  var time: UInt64
  /// The same moment by the monotonic clock of this process, in microseconds.
  var updated: UInt64
  /// Whether the store had no number for the URL, so that this one is new.
  var isNew: Bool

  var bytes: [UInt8] { WordBytes.encode(epoch, generation, time, updated) + [isNew ? 1 : 0] }

  init(epoch: UInt64, generation: UInt64, isNew: Bool = false, time: Duration, updated: Duration) {
    self.epoch = epoch
    self.generation = generation
    self.isNew = isNew
    self.time = UInt64(time.wholeMicroseconds)
    self.updated = UInt64(updated.wholeMicroseconds)
  }

  init?(_ bytes: [UInt8]) {
    guard let last = bytes.last, last <= 1, let words = WordBytes.decode(bytes.dropLast(), count: 4) else { return nil }
    isNew = last == 1
    (epoch, generation, time, updated) = (words[0], words[1], words[2], words[3])
  }

  /// Returns whether no removal lies between two marks.
  func hasSameResponses(as other: CacheMark?) -> Bool { epoch == other?.epoch && generation == other?.generation }
}
