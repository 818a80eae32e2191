// SPDX-License-Identifier: Apache-2.0

/// The state of a request that one instance sends for all, as it is kept in a store.
struct CacheLease: Sendable, Hashable {
  enum State: UInt8 {
    /// An instance waits for the server.
    case held = 1
    /// The response is in the store.
    case stored = 2
    /// The response is not in the store, or must be validated before each use. The next one may be like it.
    case unstored = 3
  }

  private static let version: UInt8 = 1

  var state: State
  /// A random number, which distinguishes two equal values.
  var number: UInt64
  /// The time of the store at which the response was stored, in microseconds; 0 while it is not.
  var time: UInt64 = 0

  var bytes: [UInt8] { [Self.version, state.rawValue] + WordBytes.encode(number, time) }

  init(_ state: State, number: UInt64, time: UInt64 = 0) {
    (self.state, self.number, self.time) = (state, number, time)
  }

  /// Reads the stored form; `nil` if the value has another form.
  init?(_ bytes: [UInt8]) {
    guard bytes.count == 18, bytes[0] == Self.version, let state = State(rawValue: bytes[1]),
      let words = WordBytes.decode(bytes[2...], count: 2)
    else { return nil }
    self.init(state, number: words[0], time: words[1])
  }
}
