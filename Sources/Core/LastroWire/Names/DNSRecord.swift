// SPDX-License-Identifier: Apache-2.0

/// The types of records that are queried or parsed (RFC 1035 §3.2.2, RFC 2782, RFC 3596, RFC 6891).
package enum DNSRecordType: UInt16, Sendable {
  case a = 1
  case cname = 5
  case soa = 6
  case aaaa = 28
  case srv = 33
  case opt = 41
}

/// The relevant parts of a record.
struct DNSRecord {
  enum Content {
    case address(IPAddress)
    case alias([UInt8])
    case service(DNSService)
    /// The start of a zone, with the lifetime of negative answers.
    case start(minimum: UInt32)
    /// Not a real record, but the upper bits of the response code (RFC 6891 §6.1.3).
    case options(code: UInt16)
    case other
  }

  let owner: [UInt8]
  let timeToLive: UInt32
  var content = Content.other
}

/// The records of the answer section, by owner name.
struct DNSFindings {
  let type: DNSRecordType
  private var addresses: [[UInt8]: [(IPAddress, UInt32)]] = [:]
  private var services: [[UInt8]: [(DNSService, UInt32)]] = [:]
  private var aliases: [[UInt8]: (name: [UInt8], timeToLive: UInt32)] = [:]

  init(type: DNSRecordType) { self.type = type }

  mutating func add(_ record: DNSRecord) {
    switch record.content {
    case .address(let address) where address.isIPv4 == (type == .a):
      addresses[record.owner, default: []].append((address, record.timeToLive))
    case .service(let service) where type == .srv:
      services[record.owner, default: []].append((service, record.timeToLive))
    case .alias(let name) where aliases[record.owner] == nil: aliases[record.owner] = (name, record.timeToLive)
    default: break
    }
  }

  func response(to name: [UInt8], exists: Bool, starts: [DNSRecord]) throws(DNSViolation) -> DNSResponse {
    var name = name, time = UInt32.max, links = 0
    while addresses[name] == nil, services[name] == nil, let alias = aliases[name] {
      links += 1
      guard links <= DNSReader.longestChain else { throw .longChain }
      name = alias.name
      time = min(time, alias.timeToLive)
    }
    if exists, let found = services[name]?.prefix(DNSReader.mostServices) {
      return .services(found.map(\.0), timeToLive: found.reduce(time) { min($0, $1.1) })
    }
    guard exists, let found = addresses[name]?.prefix(DNSReader.mostAddresses) else {
      return .none(exists: exists, timeToLive: Self.timeOfAbsence(of: name, starts).map { min($0, time) })
    }
    return .addresses(found.map(\.0), timeToLive: found.reduce(time) { min($0, $1.1) })
  }

  /// Returns the lifetime of a negative answer. Only the zone that contains the name may set it (RFC 2308 §5).
  private static func timeOfAbsence(of name: [UInt8], _ records: [DNSRecord]) -> UInt32? {
    for record in records {
      guard case .start(let minimum) = record.content, ends(name, with: record.owner) else { continue }
      return min(record.timeToLive, minimum)
    }
    return nil
  }

  /// Returns whether a name equals a zone or is below it, at a label boundary.
  private static func ends(_ name: [UInt8], with zone: [UInt8]) -> Bool {
    var rest = name[...]
    while rest.count > zone.count, let length = rest.first { rest = rest.dropFirst(Int(length) + 1) }
    return rest.elementsEqual(zone)
  }
}
