// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The sending side of a replayed HTTP/2 connection. It accepts the heads and the body bytes of requests as they were
/// accepted in the recorded call, and all other frames at once.
struct ReplayGate {
  private static let headBytes = 9
  private static let prefaceBytes = 24

  /// The streams that were opened on the recorded connection, in order, and those on the replayed one.
  private(set) var recorded: [Int32] = []
  private(set) var opened: [Int32] = []
  /// The stream of the request before the call; `nil` if there was none.
  private var first: Int32?
  /// Whether heads and bodies wait until they are allowed.
  private var isLimited = false
  private var heads = 0
  private var bodyBytes = 0
  /// Whether bytes were not accepted.
  private(set) var isStuck = false
  /// The bytes of a frame's head so far.
  private var start: [UInt8] = []
  /// The bytes that are left of the preface, or of a frame's payload.
  private var rest = ReplayGate.prefaceBytes
  private var isBody = false

  /// The number of SETTINGS that were sent and not acknowledged.
  private var openSettings = 0
  /// The number of SETTINGS that were sent when the call was recorded, and not here.
  private var missingSettings = 0

  /// Records an acknowledgement of settings.
  ///
  /// - Returns: false if it is that of settings which were not sent here. One that no settings ask for is a fault of
  ///   the server.
  mutating func acknowledgeSettings() -> Bool {
    if openSettings > 0 {
      openSettings -= 1
    } else if missingSettings > 0 {
      missingSettings -= 1
      return false
    }
    return true
  }

  /// Ends the request before the call. From here on, heads and bodies wait.
  ///
  /// - Parameter unacknowledged: the number of SETTINGS that were not acknowledged before the call.
  mutating func limit(unacknowledged: Int) {
    isLimited = true
    missingSettings = max(0, unacknowledged - openSettings)
    openSettings = min(openSettings, unacknowledged)
    first = opened.last
    opened = []
  }

  /// Allows what was sent in an event.
  mutating func allow(_ frames: [TraceFrame]) {
    isStuck = false
    for frame in frames {
      guard let type = frame.typeNumber else { continue }
      if type == HTTP2FrameType.headers.rawValue {
        heads += 1
        if let stream = frame.stream, !recorded.contains(stream) { recorded.append(stream) }
      }
      if type == HTTP2FrameType.settings.rawValue, (frame.flags ?? 0) & 1 == 0 { missingSettings += 1 }
    }
    var isBody = isRecordingBody
    for frame in frames {
      if let type = frame.typeNumber { isBody = type == HTTP2FrameType.data.rawValue }
      if isBody { bodyBytes += frame.byteCount }
    }
    isRecordingBody = isBody
  }

  /// Whether the latest recorded frame is one of a body.
  private var isRecordingBody = false

  /// Returns how many of the bytes are accepted.
  mutating func pass(_ bytes: UnsafeRawBufferPointer) -> Int {
    var position = 0
    while position < bytes.count {
      if rest > 0 {
        var count = min(rest, bytes.count - position)
        if isBody, isLimited {
          count = min(count, bodyBytes)
          bodyBytes -= count
        }
        rest -= count
        position += count
        guard count > 0 else { return stuck(at: position) }
        continue
      }
      let count = min(Self.headBytes - start.count, bytes.count - position)
      let head = start + bytes[position..<position + count]
      guard head.count == Self.headBytes else {
        start = head
        return bytes.count
      }
      if start.isEmpty, !mayBegin(head) { return stuck(at: position) }
      begin(head)
      position += count
    }
    return position
  }

  private mutating func stuck(at position: Int) -> Int {
    isStuck = true
    return position
  }

  private func mayBegin(_ head: [UInt8]) -> Bool {
    !isLimited || head[3] != HTTP2FrameType.headers.rawValue || heads > 0
  }

  private mutating func begin(_ head: [UInt8]) {
    start = []
    rest = head[..<3].reduce(0) { $0 << 8 | Int($1) }
    isBody = head[3] == HTTP2FrameType.data.rawValue
    if head[3] == HTTP2FrameType.settings.rawValue, head[4] & 1 == 0 {
      openSettings += 1
      if isLimited { missingSettings = max(0, missingSettings - 1) }
    }
    guard head[3] == HTTP2FrameType.headers.rawValue else { return }
    if isLimited { heads = max(0, heads - 1) }
    let stream = Int32(bitPattern: head[5...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF)
    if !opened.contains(stream) { opened.append(stream) }
  }

  // MARK: Streams

  /// Returns the number on the replayed connection of a stream of the recorded one.
  func stream(_ number: Int32) -> Int32 {
    if let index = recorded.firstIndex(of: number) { return index < opened.count ? opened[index] : number }
    // A stream of another call, which has ended.
    if let first, number % 2 == 1, number < recorded.last ?? 0 { return first }
    return number
  }

  /// Returns the number of the last stream of a GOAWAY.
  func lastStream(_ number: Int32) -> Int32 {
    if number == .max { return number }
    let last = recorded.lastIndex { $0 <= number }
    if let last { return last < opened.count ? opened[last] : number }
    return first ?? 0
  }
}
