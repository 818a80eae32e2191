// SPDX-License-Identifier: Apache-2.0

/// Why a message is no response to a question.
package enum DNSViolation: Error, Sendable, Hashable, CaseIterable {
  case truncatedMessage
  case tooLong
  case trailingBytes
  /// Not a response, or to another query.
  case otherID
  case noResponse
  /// Not the question that was asked, byte by byte.
  case otherQuestion
  case tooManyRecords
  /// Over 255 bytes.
  case longName
  /// A label of a type that is not in use (RFC 6891 §5).
  case labelType
  /// One that does not lead backwards, or one of too many.
  case pointer
  /// An address or a name that does not fill its record.
  case recordLength
  case longChain
}

/// What a server says to a question.
package enum DNSResponse: Sendable, Hashable {
  /// The addresses, of the name or of that which it is an alias of, and for how many seconds.
  case addresses([IPAddress], timeToLive: UInt32)
  /// The name has none of the family, or is not there; for how many seconds, where the server says so (RFC 2308).
  case none(exists: Bool, timeToLive: UInt32?)
  /// The server's code for why it does not say (RFC 1035 §4.1.1), such as 2, SERVFAIL.
  case failure(code: UInt8)
  /// It does not fit: to be asked over another transport.
  case truncated
}

/// Reads responses of DNS (RFC 1035 §4.1) strictly.
///
/// What is believed stands in the answer section and belongs to the name that was asked for, or to one that it is an
/// alias of by records of the same response; all else is passed over.
package struct DNSReader {
  package static let mostBytes = 65_535
  package static let mostNameBytes = 255
  static let mostJumps = 126
  static let mostRecords = 512
  /// Further ones are left out.
  package static let mostAddresses = 64
  static let longestChain = 8

  private let bytes: [UInt8]
  private var at = 0

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Reads a whole message.
  package static func read(
    _ bytes: [UInt8], answering question: DNSQuestion, id: UInt16
  ) throws(DNSViolation) -> DNSResponse {
    guard bytes.count <= mostBytes else { throw .tooLong }
    var reader = DNSReader(bytes)
    return try reader.response(to: question, id: id)
  }

  private mutating func response(to question: DNSQuestion, id: UInt16) throws(DNSViolation) -> DNSResponse {
    guard try number() == id else { throw .otherID }
    let flags = try number()
    // A response to a standard query.
    guard flags & 0xF800 == 0x8000 else { throw .noResponse }
    guard try number() == 1 else { throw .otherQuestion }
    let answers = Int(try number()), authorities = Int(try number()), others = Int(try number())
    guard answers + authorities + others <= Self.mostRecords else { throw .tooManyRecords }
    guard try take(question.bytes.count).elementsEqual(question.bytes) else { throw .otherQuestion }
    if flags & 0x0200 != 0 { return .truncated }
    var found = DNSFindings(type: question.type)
    for _ in 0..<answers { found.add(try record()) }
    var starts: [DNSRecord] = []
    for _ in 0..<authorities { starts.append(try record()) }
    for _ in 0..<others { _ = try record() }
    guard at == bytes.count else { throw .trailingBytes }
    let code = UInt8(flags & 0xF)
    guard code == 0 || code == 3 else { return .failure(code: code) }
    return try found.response(to: question.name.map(Self.lowercased), exists: code == 0, starts: starts)
  }

  // MARK: Records

  private mutating func record() throws(DNSViolation) -> DNSRecord {
    let owner = try name()
    let type = try number(), kind = try number(), high = try number(), low = try number()
    let time = UInt32(high) << 16 | UInt32(low)
    let end = Int(try number()) + at
    guard end <= bytes.count else { throw .truncatedMessage }
    // RFC 2181 §8: with the first bit set it is none.
    var record = DNSRecord(owner: owner, timeToLive: time >> 31 == 0 ? time : 0)
    switch kind == 1 ? DNSRecordType(rawValue: type) : nil {
    case .a: record.content = .address(try address(4, end: end))
    case .aaaa: record.content = .address(try address(16, end: end))
    case .cname: record.content = .alias(try name())
    case .soa:
      _ = try name()
      _ = try name()
      _ = try take(16)
      record.content = .start(minimum: UInt32(try number()) << 16 | UInt32(try number()))
    case nil: at = end
    }
    guard at == end else { throw .recordLength }
    return record
  }

  private mutating func address(_ count: Int, end: Int) throws(DNSViolation) -> IPAddress {
    guard end - at == count, let address = IPAddress(try take(count)) else { throw .recordLength }
    return address
  }

  // MARK: Names and numbers

  /// A name in lower case, without compression.
  private mutating func name() throws(DNSViolation) -> [UInt8] {
    var result: [UInt8] = []
    var position = at, start = at, jumps = 0
    while true {
      guard position < bytes.count else { throw .truncatedMessage }
      let length = Int(bytes[position])
      switch length >> 6 {
      case 0:
        let end = position + 1 + length
        guard end <= bytes.count else { throw .truncatedMessage }
        result += bytes[position..<end].lazy.map(Self.lowercased)
        guard result.count <= Self.mostNameBytes else { throw .longName }
        position = end
        if jumps == 0 { at = end }
        if length == 0 { return result }
      case 3:
        guard position + 1 < bytes.count else { throw .truncatedMessage }
        let target = (length & 0x3F) << 8 | Int(bytes[position + 1])
        if jumps == 0 { at = position + 2 }
        jumps += 1
        // To what stands before all of this name that was read: so each jump leads on, and none into the header.
        guard target < start, target >= 12, jumps <= Self.mostJumps else { throw .pointer }
        position = target
        start = target
      default: throw .labelType
      }
    }
  }

  /// Lengths are below the letters, so that a whole name may be given.
  private static func lowercased(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }

  private mutating func number() throws(DNSViolation) -> UInt16 { try take(2).reduce(0) { $0 << 8 | UInt16($1) } }

  private mutating func take(_ count: Int) throws(DNSViolation) -> ArraySlice<UInt8> {
    guard count <= bytes.count - at else { throw .truncatedMessage }
    defer { at += count }
    return bytes[at..<at + count]
  }
}

/// A record as far as it is of use.
struct DNSRecord {
  enum Content {
    case address(IPAddress)
    case alias([UInt8])
    /// Where a zone begins, with its time for what is not there.
    case start(minimum: UInt32)
    case other
  }

  let owner: [UInt8]
  let timeToLive: UInt32
  var content = Content.other
}

/// The answer section, by the names that its records belong to.
private struct DNSFindings {
  let type: DNSRecordType
  private var addresses: [[UInt8]: [(IPAddress, UInt32)]] = [:]
  private var aliases: [[UInt8]: (name: [UInt8], timeToLive: UInt32)] = [:]

  init(type: DNSRecordType) { self.type = type }

  mutating func add(_ record: DNSRecord) {
    switch record.content {
    case .address(let address) where address.isIPv4 == (type == .a):
      addresses[record.owner, default: []].append((address, record.timeToLive))
    case .alias(let name) where aliases[record.owner] == nil: aliases[record.owner] = (name, record.timeToLive)
    default: break
    }
  }

  func response(to name: [UInt8], exists: Bool, starts: [DNSRecord]) throws(DNSViolation) -> DNSResponse {
    var name = name, time = UInt32.max, links = 0
    while addresses[name] == nil, let alias = aliases[name] {
      links += 1
      guard links <= DNSReader.longestChain else { throw .longChain }
      name = alias.name
      time = min(time, alias.timeToLive)
    }
    guard exists, let found = addresses[name]?.prefix(DNSReader.mostAddresses) else {
      return .none(exists: exists, timeToLive: Self.timeOfAbsence(of: name, starts).map { min($0, time) })
    }
    return .addresses(found.map(\.0), timeToLive: found.reduce(time) { min($0, $1.1) })
  }

  /// Said by the zone that the name is in, and by no other (RFC 2308 §5).
  private static func timeOfAbsence(of name: [UInt8], _ records: [DNSRecord]) -> UInt32? {
    for record in records {
      guard case .start(let minimum) = record.content, ends(name, with: record.owner) else { continue }
      return min(record.timeToLive, minimum)
    }
    return nil
  }

  /// Whether a name is another, or below it: at the beginning of a label.
  private static func ends(_ name: [UInt8], with zone: [UInt8]) -> Bool {
    var rest = name[...]
    while rest.count > zone.count, let length = rest.first { rest = rest.dropFirst(Int(length) + 1) }
    return rest.elementsEqual(zone)
  }
}
