// SPDX-License-Identifier: Apache-2.0

/// Parses DNS responses (RFC 1035 §4.1) strictly.
///
/// It uses only records in the answer section that belong to the queried name or to its alias according to the same
/// response. All other records are ignored.
package struct DNSReader {
  package static let mostBytes = 65_535
  package static let mostNameBytes = 255
  static let mostJumps = 126
  static let mostRecords = 512
  /// The maximum number of addresses. Further ones are ignored.
  package static let mostAddresses = 64
  /// The maximum number of services. Further ones are ignored.
  package static let mostServices = 256
  static let longestChain = 8

  private let bytes: [UInt8]
  private var at = 0

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Parses a complete message.
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
    // The message must be a response to a standard query.
    guard flags & 0xF800 == 0x8000 else { throw .noResponse }
    guard try number() == 1 else { throw .otherQuestion }
    let answers = Int(try number()), authorities = Int(try number()), others = Int(try number())
    guard answers + authorities + others <= Self.mostRecords else { throw .tooManyRecords }
    guard try nextBytes(question.bytes.count).elementsEqual(question.bytes) else { throw .otherQuestion }
    if flags & 0x0200 != 0 { return .truncated }
    var found = DNSFindings(type: question.type)
    for _ in 0..<answers { found.add(try record()) }
    var starts: [DNSRecord] = []
    for _ in 0..<authorities { starts.append(try record()) }
    var code = flags & 0xF
    for _ in 0..<others {
      if case .options(let upper) = try record().content { code |= upper << 4 }
    }
    guard at == bytes.count else { throw .trailingBytes }
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
    // RFC 2181 §8: a value with the highest bit set counts as 0.
    var record = DNSRecord(owner: owner, timeToLive: time >> 31 == 0 ? time : 0)
    // The class field of OPT is a size.
    switch kind == 1 || type == DNSRecordType.opt.rawValue ? DNSRecordType(rawValue: type) : nil {
    case .a: record.content = .address(try address(4, end: end))
    case .aaaa: record.content = .address(try address(16, end: end))
    case .cname: record.content = .alias(try name())
    case .srv:
      let priority = try number(), weight = try number(), port = try number()
      let target = try Self.text(of: try name())
      record.content = .service(DNSService(priority: priority, weight: weight, port: port, target: target))
    case .soa:
      _ = try name()
      _ = try name()
      _ = try nextBytes(16)
      record.content = .start(minimum: UInt32(try number()) << 16 | UInt32(try number()))
    case .opt:
      record.content = .options(code: high >> 8)
      at = end
    case nil: at = end
    }
    guard at == end else { throw .recordLength }
    return record
  }

  private mutating func address(_ count: Int, end: Int) throws(DNSViolation) -> IPAddress {
    guard end - at == count, let address = IPAddress(try nextBytes(count)) else { throw .recordLength }
    return address
  }

  // MARK: Names and numbers

  /// Parses a name, expands compression, and converts it to lower case.
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
        // A pointer must point before all parts of the name that have been read, and not into the header. So each jump
        // goes backwards.
        guard target < start, target >= 12, jumps <= Self.mostJumps else { throw .pointer }
        position = target
        start = target
      default: throw .labelType
      }
    }
  }

  /// Returns the text of an encoded name, without a final dot.
  private static func text(of name: [UInt8]) throws(DNSViolation) -> String {
    var labels: [String] = []
    var rest = name[...]
    while let length = rest.first, length > 0 {
      let label = rest.dropFirst().prefix(Int(length))
      guard label.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ".") }) else { throw .target }
      labels.append(String(decoding: label, as: UTF8.self))
      rest = rest.dropFirst(Int(length) + 1)
    }
    return labels.joined(separator: ".")
  }

  /// Returns a byte in lower case. Length bytes are below the letters, so it can be applied to a whole encoded name.
  private static func lowercased(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }

  private mutating func number() throws(DNSViolation) -> UInt16 { try nextBytes(2).reduce(0) { $0 << 8 | UInt16($1) } }

  private mutating func nextBytes(_ count: Int) throws(DNSViolation) -> ArraySlice<UInt8> {
    guard count <= bytes.count - at else { throw .truncatedMessage }
    defer { at += count }
    return bytes[at..<at + count]
  }
}
