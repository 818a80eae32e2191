// SPDX-License-Identifier: Apache-2.0

import Glibc
package import LastroSupport

/// A DNS server on loopback, over UDP and TCP, whose answers a test changes while it runs.
package final class LoopbackDNSServer: Sendable {
  /// A record of an answer.
  package enum Record: Sendable, Hashable {
    case address(String)
    case alias(String)
    case service(priority: UInt16, weight: UInt16, port: UInt16, target: String)
  }

  /// An answer to a question.
  package enum Answer: Sendable {
    /// Records with a time to live in seconds. Those that follow an alias belong to its target.
    case records([Record], timeToLive: UInt32 = 30)
    /// A response code without records, such as 0 for no data, 2 for SERVFAIL and 3 for NXDOMAIN.
    case code(UInt8)
    /// The records over TCP, and a truncated response over UDP.
    case overTCP([Record])
    /// No response.
    case silence
    /// Datagrams with another id and another question, and then the answer.
    indirect case afterForgeries(Answer)
  }

  /// A question that was received.
  package struct Question: Sendable, Hashable {
    package let name: String
    package let type: UInt16
    package let id: UInt16
    /// The port of the client; 0 over TCP.
    package let port: Int
    package let isOverTCP: Bool
  }

  /// The port, of UDP and of TCP.
  package let port: Int
  /// The server as a resolver names it.
  package var address: String { "127.0.0.1:\(port)" }
  /// The questions so far.
  package let questions = Watched([Question]())

  private let answers = Lock<[String: Answer]>([:])
  private let datagrams: Int32
  private let listener: Int32
  private let isStopped = Lock(false)

  /// Starts a server that answers every name with NXDOMAIN.
  package init() throws {
    var found: (Int32, Int32, Int)?
    for _ in 0..<100 where found == nil { found = Self.sockets() }
    guard let found else { throw DNSServerError.noPort }
    (datagrams, listener, port) = found
    let code = DetachedThread.start { [datagrams, listener, answers, questions, isStopped] in
      Self.serve(datagrams, listener, answers, questions, isStopped)
    }
    guard code == 0 else { throw DNSServerError.noThread }
  }

  deinit { stop() }

  /// Sets the answer for a name and a type: 1 for A, 28 for AAAA, 33 for SRV.
  package func set(_ name: String, _ type: UInt16, _ answer: Answer) {
    answers.withLock { $0["\(name) \(type)"] = answer }
  }

  /// Sets the IPv4 addresses of a name, which has no IPv6 addresses.
  package func set(_ name: String, addresses: [String], timeToLive: UInt32 = 30) {
    set(name, 1, addresses.isEmpty ? .code(0) : .records(addresses.map { .address($0) }, timeToLive: timeToLive))
    set(name, 28, .code(0))
  }

  /// Stops the server. Its port then refuses.
  package func stop() { isStopped.withLock { $0 = true } }

  private enum DNSServerError: Error { case noPort, noThread }

  // MARK: Sockets

  private static func sockets() -> (Int32, Int32, Int)? {
    let datagrams = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(datagrams, $0, length) == 0 && getsockname(datagrams, $0, &length) == 0 && bind(listener, $0, length) == 0
          && listen(listener, 16) == 0
      }
    }
    if isBound { return (datagrams, listener, Int(UInt16(bigEndian: address.sin_port))) }
    close(datagrams)
    close(listener)
    return nil
  }

  private static func serve(
    _ datagrams: Int32, _ listener: Int32, _ answers: Lock<[String: Answer]>, _ questions: Watched<[Question]>,
    _ isStopped: Lock<Bool>
  ) {
    defer {
      close(datagrams)
      close(listener)
    }
    while !isStopped.withLock({ $0 }) {
      var polls = [
        pollfd(fd: datagrams, events: Int16(POLLIN), revents: 0),
        pollfd(fd: listener, events: Int16(POLLIN), revents: 0),
      ]
      guard poll(&polls, 2, 20) > 0 else { continue }
      if polls[0].revents != 0 { serveDatagram(datagrams, answers, questions) }
      if polls[1].revents != 0 { serveStream(listener, answers, questions) }
    }
  }

  private static func serveDatagram(
    _ socket: Int32, _ answers: Lock<[String: Answer]>, _ questions: Watched<[Question]>
  ) {
    var bytes = [UInt8](repeating: 0, count: 4096)
    var peer = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let count = withUnsafeMutablePointer(to: &peer) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { recvfrom(socket, &bytes, 4096, 0, $0, &length) }
    }
    guard count > 0, let query = Query(Array(bytes.prefix(count))) else { return }
    let port = Int(UInt16(bigEndian: peer.sin_port))
    questions.change { $0.append(query.asked(port: port, isOverTCP: false)) }
    for message in query.messages(answers.withLock { $0["\(query.name) \(query.type)"] } ?? .code(3), isOverTCP: false)
    {
      _ = withUnsafeMutablePointer(to: &peer) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          sendto(socket, message, message.count, Int32(MSG_NOSIGNAL), $0, length)
        }
      }
    }
  }

  private static func serveStream(
    _ listener: Int32, _ answers: Lock<[String: Answer]>, _ questions: Watched<[Question]>
  ) {
    let socket = accept(listener, nil, nil)
    guard socket >= 0 else { return }
    defer { close(socket) }
    var limit = timeval(tv_sec: 10, tv_usec: 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    guard let length = receive(2, from: socket),
      let bytes = receive(Int(length[0]) << 8 | Int(length[1]), from: socket), let query = Query(bytes)
    else { return }
    questions.change { $0.append(query.asked(port: 0, isOverTCP: true)) }
    let answer = answers.withLock { $0["\(query.name) \(query.type)"] } ?? .code(3)
    for message in query.messages(answer, isOverTCP: true) {
      let framed = [UInt8(message.count >> 8), UInt8(message.count & 0xFF)] + message
      // In two pieces, so that a client must put them together.
      _ = send(socket, framed, 5, Int32(MSG_NOSIGNAL))
      _ = send(socket, Array(framed.dropFirst(5)), framed.count - 5, Int32(MSG_NOSIGNAL))
    }
  }

  private static func receive(_ count: Int, from socket: Int32) -> [UInt8]? {
    var result: [UInt8] = []
    while result.count < count {
      var bytes = [UInt8](repeating: 0, count: count - result.count)
      let received = recv(socket, &bytes, bytes.count, 0)
      guard received > 0 else { return nil }
      result += bytes.prefix(received)
    }
    return result
  }
}

/// A query as the server reads it, and the messages that answer it.
private struct Query {
  let id: UInt16
  /// The question as it was received.
  let question: [UInt8]
  let name: String
  let type: UInt16

  init?(_ bytes: [UInt8]) {
    guard bytes.count > 16 else { return nil }
    id = UInt16(bytes[0]) << 8 | UInt16(bytes[1])
    var at = 12
    var labels: [String] = []
    while at < bytes.count, bytes[at] > 0 {
      let end = at + 1 + Int(bytes[at])
      guard end < bytes.count else { return nil }
      labels.append(String(decoding: bytes[at + 1..<end], as: UTF8.self))
      at = end
    }
    guard at + 5 <= bytes.count else { return nil }
    name = labels.joined(separator: ".").lowercased()
    type = UInt16(bytes[at + 1]) << 8 | UInt16(bytes[at + 2])
    question = Array(bytes[12..<at + 5])
  }

  func asked(port: Int, isOverTCP: Bool) -> LoopbackDNSServer.Question {
    .init(name: name, type: type, id: id, port: port, isOverTCP: isOverTCP)
  }

  func messages(_ answer: LoopbackDNSServer.Answer, isOverTCP: Bool) -> [[UInt8]] {
    switch answer {
    case .silence: return []
    case .code(let code): return [message(flags: 0x8180 | UInt16(code), [])]
    case .records(let records, let time): return [message(flags: 0x8180, encoded(records, time))]
    case .overTCP(let records):
      return [isOverTCP ? message(flags: 0x8180, encoded(records, 30)) : message(flags: 0x8380, [])]
    case .afterForgeries(let answer):
      let forged = encoded([.address("203.0.113.66")], 300)
      let elsewhere = Self.name("else.test") + number(type) + number(1)
      return [
        message(id: id ^ 1, flags: 0x8180, forged), message(question: elsewhere, flags: 0x8180, forged), [1, 2, 3],
      ]
        + messages(answer, isOverTCP: isOverTCP)
    }
  }

  private func message(id: UInt16? = nil, question: [UInt8]? = nil, flags: UInt16, _ records: [[UInt8]]) -> [UInt8] {
    number(id ?? self.id) + number(flags) + number(1) + number(UInt16(records.count)) + number(0) + number(0)
      + (question ?? self.question) + records.flatMap(\.self)
  }

  private func encoded(_ records: [LoopbackDNSServer.Record], _ time: UInt32) -> [[UInt8]] {
    var owner: [UInt8] = [0xC0, 12]
    return records.map { record in
      let (type, data): (UInt16, [UInt8])
      var next = owner
      switch record {
      case .address(let text):
        (type, data) = Self.address(text)
      case .alias(let name):
        (type, data) = (5, Self.name(name))
        next = data
      case .service(let priority, let weight, let port, let target):
        (type, data) = (33, number(priority) + number(weight) + number(port) + Self.name(target))
      }
      defer { owner = next }
      return owner + number(type) + number(1) + number(UInt16(time >> 16)) + number(UInt16(time & 0xFFFF))
        + number(UInt16(data.count)) + data
    }
  }

  private static func address(_ text: String) -> (UInt16, [UInt8]) {
    var bytes = [UInt8](repeating: 0, count: 16)
    if inet_pton(AF_INET, text, &bytes) == 1 { return (1, Array(bytes.prefix(4))) }
    _ = inet_pton(AF_INET6, text, &bytes)
    return (28, bytes)
  }

  private static func name(_ text: String) -> [UInt8] {
    text.split(separator: ".").flatMap { [UInt8(truncatingIfNeeded: $0.utf8.count)] + Array($0.utf8) } + [0]
  }

  private func number(_ number: UInt16) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 0xFF)] }
}
