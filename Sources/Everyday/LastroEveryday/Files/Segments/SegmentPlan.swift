// SPDX-License-Identifier: Apache-2.0

/// The division of a file into segments that are downloaded at the same time, and the bytes on disk.
struct SegmentPlan {
  /// A range of missing bytes, without its upper bound.
  struct Segment: Hashable {
    /// The next missing byte.
    var next: Int64
    var end: Int64
    var rest: Int64 { end - next }
  }

  /// The minimum size of a segment after a split.
  let least: Int64
  let total: Int64
  /// The segments that are downloaded at the same time.
  private(set) var segments: [Segment] = []
  /// The gaps that wait until a segment is complete, in order.
  private var waiting: [Segment] = []
  /// The ranges on disk, in order; adjacent ranges are merged.
  private(set) var done: [DownloadRecord.ByteRange] = []

  /// Divides the missing bytes into segments.
  ///
  /// - Parameters:
  ///   - done: the ranges on disk, in any order.
  ///   - count: the number of segments up to which the largest are split. If there are more gaps, the others wait.
  init(total: Int64, done: [DownloadRecord.ByteRange], count: Int, least: Int64) {
    self.total = total
    self.least = max(1, least)
    for range in done { add(range) }
    var missing: [Segment] = []
    var start: Int64 = 0
    for range in self.done + [.init(from: total, to: total)] {
      if range.from > start { missing.append(Segment(next: start, end: range.from)) }
      start = max(start, range.to)
    }
    let count = max(1, count)
    segments = Array(missing.prefix(count))
    waiting = Array(missing.dropFirst(count))
    while segments.count < count, split() {}
  }

  /// The number of bytes on disk.
  var count: Int64 { done.reduce(0) { $0 + $1.to - $1.from } }

  var isComplete: Bool { done == [.init(from: 0, to: total)] || total == 0 }

  /// Records that bytes were written at the start of a segment's rest.
  mutating func recordWritten(_ count: Int64, of index: Int) {
    let segment = segments[index]
    let taken = min(count, segment.rest)
    guard taken > 0 else { return }
    add(.init(from: segment.next, to: segment.next + taken))
    segments[index].next += taken
  }

  /// Replaces a completed segment with a waiting gap or, if none waits, with half of the largest remaining segment.
  ///
  /// - Returns: false if no gap waits and no remaining segment is large enough.
  mutating func refill(_ index: Int) -> Bool {
    guard segments[index].rest == 0 else { return false }
    if !waiting.isEmpty {
      segments[index] = waiting.removeFirst()
      return true
    }
    guard split() else { return false }
    segments[index] = segments.removeLast()
    return true
  }

  /// Splits the largest remaining segment in two.
  private mutating func split() -> Bool {
    guard let index = segments.indices.max(by: { segments[$0].rest < segments[$1].rest }),
      segments[index].rest >= 2 * least
    else { return false }
    let middle = segments[index].next + segments[index].rest / 2
    segments.append(Segment(next: middle, end: segments[index].end))
    segments[index].end = middle
    return true
  }

  private mutating func add(_ range: DownloadRecord.ByteRange) {
    guard range.to > range.from else { return }
    var merged = range
    var kept: [DownloadRecord.ByteRange] = []
    for other in done {
      if other.to < merged.from || other.from > merged.to {
        kept.append(other)
      } else {
        merged.from = min(merged.from, other.from)
        merged.to = max(merged.to, other.to)
      }
    }
    kept.append(merged)
    done = kept.sorted { $0.from < $1.from }
  }
}
