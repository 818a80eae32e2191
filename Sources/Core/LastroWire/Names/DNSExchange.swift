// SPDX-License-Identifier: Apache-2.0

/// A question to the servers of a stub resolver, one after another, over UDP, and over TCP if a response is truncated.
///
/// It makes decisions only: its user sends the messages, and reports what arrives. A datagram that is not the response to
/// the query is ignored, because anyone can send one. A server that fails, or does not respond in time, is passed over.
package struct DNSExchange: Sendable {
  /// The way on which a query is sent.
  package enum Way: Sendable, Hashable {
    case datagram
    case stream
  }

  /// The next thing to do.
  package enum Step: Sendable, Hashable {
    /// Send a query to a server, on a new socket.
    case send(server: Int, Way, [UInt8])
    /// Keep waiting for the response to the latest query, for the time that is left.
    case wait
    case end(Outcome)
  }

  /// The outcome of a question.
  package enum Outcome: Sendable, Hashable {
    /// A server's answer; never a failure, and never truncated.
    case answered(DNSResponse)
    /// All servers have failed. The reason is a clause about the last of them.
    case failed(server: Int, reason: String, responded: Bool)
  }

  /// The maximum number of datagrams that are ignored for a query.
  package static let mostStrays = 32

  private let question: DNSQuestion
  private let servers: Int
  /// The number of queries, one of each server in turn.
  private let tries: Int
  private let firstWay: Way
  private var tried = -1
  private var way = Way.datagram
  private var id: UInt16 = 0
  private var strays = 0
  private var isOver = false
  /// Whether any server has responded, though with a failure.
  private var hasResponse = false

  /// - Parameters:
  ///   - servers: the number of servers, 1 or more.
  ///   - attempts: the number of times that each server is asked.
  package init(_ question: DNSQuestion, servers: Int, attempts: Int, usesStreams: Bool) {
    self.question = question
    self.servers = max(1, servers)
    tries = self.servers * max(1, attempts)
    firstWay = usesStreams ? .stream : .datagram
  }

  /// Begins with the first server.
  ///
  /// - Parameter id: a random number, as for the other events.
  package mutating func begin(id: UInt16) -> Step { next(id: id, "", responded: false) }

  /// Acts on a datagram, or on a message of a stream, that has arrived after the latest query.
  package mutating func received(_ bytes: [UInt8], id next: UInt16) -> Step {
    if isOver { return .wait }
    let response: DNSResponse
    do throws(DNSViolation) {
      response = try DNSReader.read(bytes, answering: question, id: id)
    } catch {
      strays += 1
      if way == .datagram, strays < Self.mostStrays { return .wait }
      return self.next(id: next, "its response is invalid: \(error.rawValue)", responded: false)
    }
    switch response {
    case .addresses, .services, .none:
      isOver = true
      return .end(.answered(response))
    case .truncated where way == .datagram: return send(.stream, id: next)
    case .truncated: return self.next(id: next, "its response over TCP is truncated", responded: true)
    case .failure(let code):
      return self.next(id: next, "it answered with code \(DNSResponse.word(ofCode: code))", responded: true)
    }
  }

  /// Acts on a query that could not be sent, or was not responded to in time.
  ///
  /// - Parameter reason: a clause about the server.
  package mutating func failed(_ reason: String, id: UInt16) -> Step {
    isOver ? .wait : next(id: id, reason, responded: false)
  }

  private mutating func next(id: UInt16, _ reason: String, responded: Bool) -> Step {
    if responded { hasResponse = true }
    guard tried + 1 < tries else {
      isOver = true
      return .end(.failed(server: tried % servers, reason: reason, responded: hasResponse))
    }
    tried += 1
    return send(firstWay, id: id)
  }

  private mutating func send(_ way: Way, id: UInt16) -> Step {
    (self.way, self.id, strays) = (way, id, 0)
    return .send(server: tried % servers, way, question.query(id: id))
  }
}
