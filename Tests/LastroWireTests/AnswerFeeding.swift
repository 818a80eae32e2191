// SPDX-License-Identifier: Apache-2.0

@testable import LastroWire

/// What a reader makes of an answer that comes in parts.
struct AnswerFeeding: Equatable {
  var interim: [Int] = []
  var head: ResponseHead?
  var body: [UInt8] = []
  var trailers: [ResponseHead.Field] = []
  var hasEnded = false
  var keepsConnection = false
  /// What lies behind the answer.
  var leftover: [UInt8] = []
  var violation: HeadViolation?

  /// - Parameters:
  ///   - most: of the body that is found, so many bytes are used at once.
  ///   - closes: whether the connection ends behind the parts.
  init(
    _ parts: [ArraySlice<UInt8>], to request: ResponseReader.Request = .ordinary,
    limits: ExchangeLimits = ExchangeLimits(), using most: Int = .max, closes: Bool = false
  ) {
    var reader = ResponseReader(to: request, limits: limits)
    do throws(HeadViolation) {
      for part in parts { try feed(Array(part), to: &reader, using: most) }
      if closes { try reader.finish() }
    } catch {
      violation = error
    }
    trailers = reader.trailers
    hasEnded = reader.hasEnded
    keepsConnection = reader.keepsConnection
  }

  private mutating func feed(
    _ part: [UInt8], to reader: inout ResponseReader, using most: Int
  ) throws(HeadViolation) {
    try part.withBytes { bytes throws(HeadViolation) in
      var position = 0
      while true {
        switch try reader.next(in: bytes, at: &position) {
        case .needsMore: return
        case .interim(let head): interim.append(head.status)
        case .head(let head): self.head = head
        case .body(let found):
          let count = min(most, found)
          body += bytes[position..<position + count]
          reader.take(count)
          position += count
        case .end:
          leftover += bytes[position...]
          return
        }
      }
    }
  }

  /// In one piece, in every two, byte by byte, and with a body that is used one by one: all come to the same.
  static func everySplit(
    of bytes: [UInt8], to request: ResponseReader.Request = .ordinary, limits: ExchangeLimits = ExchangeLimits(),
    closes: Bool = false
  ) -> (answer: Self, differing: [String]) {
    let whole = Self([bytes[...]], to: request, limits: limits, closes: closes)
    var differing: [String] = []
    for cut in 0...bytes.count {
      let halves = Self([bytes[..<cut], bytes[cut...]], to: request, limits: limits, closes: closes)
      if halves != whole { differing.append("cut at \(cut)") }
    }
    let single = bytes.indices.map { bytes[$0...$0] }
    if Self(single, to: request, limits: limits, closes: closes) != whole { differing.append("byte by byte") }
    if Self([bytes[...]], to: request, limits: limits, using: 1, closes: closes) != whole {
      differing.append("used one by one")
    }
    return (whole, differing)
  }
}
