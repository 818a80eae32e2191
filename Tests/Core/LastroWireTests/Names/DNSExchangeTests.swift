// SPDX-License-Identifier: Apache-2.0

import LastroWire
import TestSupport
import Testing

/// Returns a response to a query.
private func response(to query: [UInt8], flags: UInt16 = 0x8180, answers: [[UInt8]] = []) -> [UInt8] {
  let question = query[12...].prefix { $0 != 0 } + query[12...].drop { $0 != 0 }.prefix(5)
  let counts: [UInt8] = [0, 1, UInt8(answers.count >> 8), UInt8(answers.count & 0xFF), 0, 0, 0, 0]
  return Array(query[0..<2]) + [UInt8(flags >> 8), UInt8(flags & 0xFF)] + counts + question
    + answers.flatMap(\.self)
}

/// Returns an A record of the question's name.
private func address(_ last: UInt8, timeToLive: UInt8 = 60) -> [UInt8] {
  [0xC0, 12, 0, 1, 0, 1, 0, 0, 0, timeToLive, 0, 4, 192, 0, 2, last]
}

@Suite("A question to the servers of a stub resolver", .ownThread)
struct DNSExchangeTests {
  private let question: DNSQuestion
  private static let found = DNSResponse.addresses([IPAddress(ipv4: 0xC000_0207)], timeToLive: 60)

  init() throws { question = try #require(DNSQuestion("api.example", .a)) }

  private func exchange(servers: Int = 2, attempts: Int = 2, usesStreams: Bool = false) -> DNSExchange {
    DNSExchange(question, servers: servers, attempts: attempts, usesStreams: usesStreams)
  }

  /// Returns the parts of a step that sends.
  private func sent(_ step: DNSExchange.Step) throws -> (server: Int, way: DNSExchange.Way, message: [UInt8]) {
    guard case .send(let server, let way, let message) = step else {
      throw Unexpected(step: step)
    }
    return (server, way, message)
  }

  private struct Unexpected: Error { let step: DNSExchange.Step }

  @Test("The response to the query ends the question, and a repeated one changes nothing")
  func answered() throws {
    var exchange = exchange()
    let query = try sent(exchange.begin(id: 0xBEEF))
    #expect(query.server == 0 && query.way == .datagram && Array(query.message.prefix(2)) == [0xBE, 0xEF])
    let answer = response(to: query.message, answers: [address(7)])
    #expect(exchange.received(answer, id: 1) == .end(.answered(Self.found)))
    #expect(exchange.received(answer, id: 2) == .wait)
    #expect(exchange.failed("late", id: 3) == .wait)
  }

  @Test("Datagrams that do not match the query are ignored, up to a number that one server may cost")
  func strays() throws {
    var exchange = exchange(servers: 2, attempts: 1)
    var query = try sent(exchange.begin(id: 7))
    var forged = response(to: query.message, answers: [address(66)])
    forged[1] ^= 1
    #expect(exchange.received(forged, id: 0) == .wait)
    #expect(exchange.received([], id: 0) == .wait)
    #expect(exchange.received(query.message, id: 0) == .wait)
    #expect(
      exchange.received(response(to: query.message, answers: [address(7)]), id: 0) == .end(.answered(Self.found)))
    exchange = self.exchange(servers: 2, attempts: 1)
    query = try sent(exchange.begin(id: 7))
    for _ in 1..<DNSExchange.mostStrays { #expect(exchange.received(forged, id: 9) == .wait) }
    let next = try sent(exchange.received(forged, id: 9))
    #expect(next.server == 1 && Array(next.message.prefix(2)) == [0, 9])
  }

  @Test("A truncated response is asked for again over TCP, from the same server and with a new id")
  func truncated() throws {
    var exchange = exchange()
    let query = try sent(exchange.begin(id: 7))
    let again = try sent(exchange.received(response(to: query.message, flags: 0x8380), id: 8))
    #expect(again.server == 0 && again.way == .stream && Array(again.message.prefix(2)) == [0, 8])
    #expect(
      exchange.received(response(to: again.message, answers: [address(7)]), id: 9) == .end(.answered(Self.found)))
  }

  @Test("Servers are asked in turn until each has failed as often as allowed, and the last reason is reported")
  func failing() throws {
    var exchange = exchange(servers: 2, attempts: 2)
    var step = exchange.begin(id: 0)
    var servers: [Int] = []
    for id in UInt16(1)...4 {
      let query = try sent(step)
      servers.append(query.server)
      step =
        id % 2 == 0
        ? exchange.failed("it is silent", id: id)
        : exchange.received(response(to: query.message, flags: 0x8182), id: id)
    }
    #expect(servers == [0, 1, 0, 1])
    #expect(step == .end(.failed(server: 1, reason: "it is silent", responded: true)))
    exchange = self.exchange(servers: 1, attempts: 1)
    _ = exchange.begin(id: 0)
    #expect(
      exchange.failed("it is silent", id: 1)
        == .end(.failed(server: 0, reason: "it is silent", responded: false)))
  }

  @Test("Over TCP alone, an invalid or truncated message is a failure of the server")
  func streams() throws {
    var exchange = exchange(servers: 3, attempts: 1, usesStreams: true)
    let query = try sent(exchange.begin(id: 0))
    #expect(query.way == .stream)
    let second = try sent(exchange.received([1, 2, 3], id: 1))
    #expect(second.server == 1 && second.way == .stream)
    let third = try sent(exchange.received(response(to: second.message, flags: 0x8380), id: 2))
    #expect(third.server == 2)
    #expect(
      exchange.received(response(to: third.message, flags: 0x8183), id: 3)
        == .end(.answered(.none(exists: false, timeToLive: nil))))
  }

  @Test("In all histories of six events a question ends once, after a bounded number of queries")
  func histories() throws {
    /// The events that may happen to a query: an answer, a failure code, truncation, a stray, and a loss.
    func act(_ exchange: inout DNSExchange, _ event: Int, _ message: [UInt8]) -> DNSExchange.Step {
      switch event {
      case 0: exchange.received(response(to: message, answers: [address(7)]), id: 5)
      case 1: exchange.received(response(to: message, flags: 0x8182), id: 5)
      case 2: exchange.received(response(to: message, flags: 0x8380), id: 5)
      case 3: exchange.received([0], id: 5)
      default: exchange.failed("it is silent", id: 5)
      }
    }
    var ends: [Bool: Int] = [:]
    for history in 0..<15_625 {
      var exchange = exchange(servers: 2, attempts: 1)
      var message = try sent(exchange.begin(id: 5)).message
      var queries: [DNSExchange.Way] = [.datagram], rest = history
      var outcome: DNSExchange.Outcome?
      for _ in 0..<6 {
        let step = act(&exchange, rest % 5, message)
        rest /= 5
        switch step {
        case .wait: break
        case .send(_, let way, let next):
          try #require(outcome == nil, "\(history)")
          queries.append(way)
          message = next
        case .end(let end):
          try #require(outcome == nil, "\(history)")
          outcome = end
          if case .answered = end { ends[true, default: 0] += 1 } else { ends[false, default: 0] += 1 }
        }
      }
      // Each of two servers is asked once over UDP, and once over TCP at most.
      try #require(queries.count { $0 == .datagram } <= 2 && queries.count { $0 == .stream } <= 2, "\(history)")
    }
    #expect(ends[true, default: 0] > 1_000 && ends[false, default: 0] > 1_000, "\(ends)")
  }
}

@Suite("Services in DNS messages")
struct DNSServiceTests {
  private func read(_ records: [[UInt8]]) throws -> Result<DNSResponse, DNSViolation> {
    let question = try #require(DNSQuestion("_https._tcp.api.example", .srv))
    let message = response(to: question.query(id: 0), answers: records)
    return Result { () throws(DNSViolation) in try DNSReader.read(message, answering: question, id: 0) }
  }

  private func record(_ target: [UInt8], priority: UInt8 = 1) -> [UInt8] {
    [0xC0, 12, 0, 33, 0, 1, 0, 0, 0, 30, 0, UInt8(6 + target.count), 0, priority, 0, 2, 0x20, 0xFB] + target
  }

  @Test("The servers of a service are read with priority, weight, port and name")
  func services() throws {
    let target: [UInt8] = [2] + Array("N1".utf8) + [7] + Array("example".utf8) + [0]
    #expect(
      try read([record(target), record([0], priority: 9)])
        == .success(
          .services(
            [
              DNSService(priority: 1, weight: 2, port: 8443, target: "n1.example"),
              DNSService(priority: 9, weight: 2, port: 8443, target: ""),
            ], timeToLive: 30)))
    #expect(try read([]) == .success(.none(exists: true, timeToLive: nil)))
  }

  @Test("A server whose name cannot be a host, or that has another length, is refused")
  func invalid() throws {
    #expect(try read([record([3] + Array("a.b".utf8) + [0])]) == .failure(.target))
    #expect(try read([record([2, 0xC3, 0xA4, 0])]) == .failure(.target))
    #expect(try read([record([1, 0x61, 0, 0])]) == .failure(.recordLength))
  }

  @Test("Mutated records are read or refused, and a name that is read has visible ASCII alone")
  func mutations() throws {
    let question = try #require(DNSQuestion("_https._tcp.api.example", .srv))
    let target: [UInt8] = [2] + Array("n1".utf8) + [7] + Array("example".utf8) + [0]
    let message = response(to: question.query(id: 0), answers: [record(target), record(target)])
    var state: UInt64 = 7
    func roll(_ sides: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % sides
    }
    var services = 0, refusals = 0
    for _ in 0..<20_000 {
      var mutated = message
      for _ in 0...roll(3) {
        let at = 12 + roll(mutated.count - 12)
        if roll(4) == 0 { mutated.remove(at: at) } else { mutated[at] = UInt8(roll(256)) }
      }
      do throws(DNSViolation) {
        guard case .services(let found, _) = try DNSReader.read(mutated, answering: question, id: 0) else { continue }
        services += 1
        for service in found { #expect(service.target.utf8.allSatisfy { (0x21...0x7E).contains($0) }) }
      } catch {
        refusals += 1
      }
    }
    #expect(services > 1_000 && refusals > 1_000, "\(services), \(refusals)")
  }

  @Test("Of many servers the first 256 are used")
  func many() throws {
    let target: [UInt8] = [1, 0x61, 0]
    guard case .success(.services(let services, _)) = try read(Array(repeating: record(target), count: 300)) else {
      Issue.record("no services")
      return
    }
    #expect(services.count == 256)
  }
}
