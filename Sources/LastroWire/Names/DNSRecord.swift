// SPDX-License-Identifier: Apache-2.0

/// Types of records that are asked for, or read (RFC 1035 §3.2.2, RFC 3596, RFC 6891).
package enum DNSRecordType: UInt16, Sendable {
  case a = 1
  case cname = 5
  case soa = 6
  case aaaa = 28
  case opt = 41
}

/// A record as far as it is of use.
struct DNSRecord {
  enum Content {
    case address(IPAddress)
    case alias([UInt8])
    /// Where a zone begins, with its time for what is not there.
    case start(minimum: UInt32)
    /// No record at all, but the upper bits of the message's code (RFC 6891 §6.1.3).
    case options(code: UInt16)
    case other
  }

  let owner: [UInt8]
  let timeToLive: UInt32
  var content = Content.other
}

/// The answer section, by the names that its records belong to.
struct DNSFindings {
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
