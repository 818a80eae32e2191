// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSimulation
import LastroTesting
import LastroWire
import TestSupport
import Testing

@testable import LastroHTTP

/// An engine in virtual time with one connection to a host, two requests, and a server that may do anything at any
/// time. The links accept a limited number of bytes, and hold them until the server takes them.
final class ExchangeWorld: BoundedWorld {
  /// A property that holds in every history.
  enum Property: String {
    case ownResponse = "A response belongs to its request"
    case whole = "A response is reported only if it is complete"
    case delivered = "A complete response is delivered"
    case sentOnce = "A request that is not idempotent is received once, and any other at most twice"
    case unsent = "A request is reported as unsent only if no byte of it was accepted"
    case cleanReuse = "A connection carries a request only if its previous exchange left nothing behind"
    case deadline = "No request outlives its deadline"
    case cancelled = "A cancelled request ends at once"
    case expect = "The body waits for 100 (Continue), or for its timer"
    case stopped = "After a final response of 300 or above, no more of the body is sent"
    case limit = "A host has one connection at a time"
    case ends = "Every request ends, and nothing is left behind"
  }

  /// The two requests of a history. A POST has its body in memory.
  enum Scenario: String, CaseIterable {
    /// Two GETs.
    case get
    /// A POST, and a GET.
    case post
    /// The same, with `Expect: 100-continue`.
    case expect
    /// A GET or a POST on the connection of a GET that has been served.
    case reusedGet, reusedPost

    var isReused: Bool { self == .reusedGet || self == .reusedPost }

    func isPost(_ number: Int) -> Bool {
      switch self {
      case .get, .reusedGet: false
      case .post, .expect: number == 0
      case .reusedPost: number == 1
      }
    }
  }

  /// A fault between engine and surroundings that breaks a property.
  enum Plant: String, CaseIterable {
    /// A POST is marked as one that may be sent again.
    case resendsPost
    /// Every end of a connection looks clean.
    case trustsEnds
    /// Requests have no deadline.
    case forgetsDeadline
    /// The link tells the engine that it accepted nothing, although it did.
    case hidesWrites

    var breaks: Property {
      switch self {
      case .resendsPost: .sentOnce
      case .trustsEnds: .whole
      case .forgetsDeadline: .deadline
      case .hidesWrites: .unsent
      }
    }
  }

  enum Choice: String, CaseIterable {
    case submit, cancelFirst, cancelSecond
    /// The server takes the bytes that the link holds.
    case take
    /// The link accepts no more writes.
    case breakWrites
    case hint, proceed, part, head, untilClose, body, rest, whole
    /// A complete response 413 without a body.
    case refuse
    /// A complete response, and a byte that belongs to none, at once.
    case wholeAndMore
    /// A byte that belongs to no response.
    case extra
    case end, cut, reset
    /// The next timer or deadline passes.
    case time
  }

  /// The state of a link's server.
  private final class Server {
    let link: MemoryLink
    let name: String
    /// The requests whose heads were read, and those that were read completely.
    var heads: [Int] = []
    var complete: Set<Int> = []
    /// The response in progress: the number of its bytes that were sent, after the head.
    enum Stage: String { case none, part, body, half, done }
    var stage = Stage.none
    var isCloseDelimited = false
    var hints = 0
    var proceeded = false
    /// Whether bytes were sent that belong to no response.
    var isNoisy = false
    var hasEnded = false
    /// The number of bytes that had been accepted when the server refused a body; `nil` if it refused none.
    var refusedAt: Int?
    var accepted: [UInt8] = []
    var http: MemoryHTTP1Server?

    init(_ link: MemoryLink, name: String) {
      self.link = link
      self.name = name
    }

    var far: MemoryPeer { link.far }
    var current: Int? { heads.last }
    /// Whether a request was read to whose response something is missing.
    var owes: Bool { !heads.isEmpty && stage != .done }

    /// Whether every request whose first bytes were accepted was read up to the end of its head. Until then, a client
    /// cannot distinguish unrequested bytes from an early response.
    var hasReadHeads: Bool { (0...1).count { accepted($0) } == heads.count }

    var hasAcceptedBody: Bool { String(decoding: accepted, as: UTF8.self).contains("\r\n\r\nabcdef") }

    func accepted(_ number: Int) -> Bool {
      String(decoding: accepted, as: UTF8.self).contains(" /\(number) HTTP")
    }
  }

  private static let limit = Duration.seconds(3)

  private let scenario: Scenario
  private let plant: Plant?
  private let engine: VirtualEngine
  private var calls: [VirtualCall] = []
  private var submittedAt: [Duration] = []
  private var servers: [Server] = []
  private var cancelled: Set<Int> = []
  /// The requests whose response was sent completely, with its text.
  private var completed: [Int: Set<String>] = [:]
  private var received: [Int: Int] = [:]
  private var firstHeadAt: Duration?
  private(set) var broken: [String] = []

  init(_ scenario: Scenario, plant: Plant? = nil) {
    self.scenario = scenario
    self.plant = plant
    engine = VirtualEngine { settings in
      settings.connectionsPerHost = 1
      settings.dialsPerHost = 1
      settings.userAgent = nil
      settings.idleLifetime = .seconds(20)
    }
    engine.network.dialing = { [unowned self] _ in .open { [unowned self] link in serve(link) } }
    submit()
    guard scenario.isReused else { return }
    for choice in [Choice.take, .whole, .submit] { apply(choice) }
  }

  // The scripts of the network refer to the world, which its links outlive.
  deinit { engine.network.forgetScripts() }

  // MARK: The server

  private func serve(_ link: MemoryLink) {
    let server = Server(link, name: "\(servers.count)")
    servers.append(server)
    // The first write of a request contains its target, and the second one the rest of a GET.
    link.far.capacity = scenario.isReused ? 1_000 : 40
    link.far.accepts = false
    link.far.onAccepted = { [unowned server] bytes in server.accepted += bytes }
    if plant == .hidesWrites {
      link.writing = { [unowned link, unowned server] in
        if server.accepted.isEmpty { link.far.wasSent(Array("GET /0 HTTP/1.1\r\n".utf8)) }
        return .failed
      }
    }
    let http = MemoryHTTP1Server(link.far) { [unowned self, unowned server] _, request in
      if let number = number(of: request) { server.complete.insert(number) }
    }
    http.onHead = { [unowned self, unowned server] _, request in received(request, by: server) }
    server.http = http
  }

  private func number(of request: MemoryRequest) -> Int? { Int(request.target.dropFirst()) }

  private func received(_ request: MemoryRequest, by server: Server) {
    guard let number = number(of: request) else { return expect(false, .cleanReuse, request.target) }
    if let last = server.current {
      let isClean = server.stage == .done && !server.isCloseDelimited && server.complete.contains(last)
      expect(isClean, .cleanReuse, "/\(number) follows /\(last)")
    }
    expect(!server.isNoisy && !server.hasEnded, .cleanReuse, "/\(number) after noise or the end")
    server.heads.append(number)
    server.stage = .none
    (server.hints, server.proceeded) = (0, false)
    received[number, default: 0] += 1
    if number == 0, firstHeadAt == nil { firstHeadAt = engine.clock.now }
    let most = scenario.isPost(number) ? 1 : 2
    expect(received[number, default: 0] <= most, .sentOnce, "/\(number)")
  }

  /// The server of the open link.
  private var server: Server? { servers.last { !$0.link.isClosed } }

  private func completeResponse(_ server: Server) {
    if !server.isCloseDelimited { server.stage = .done }
    // A response that ends with its connection may end after any number of bytes.
    let count = server.stage == .body ? 0 : server.stage == .half ? 1 : 2
    server.stage = .done
    if let number = server.current { completed[number, default: []].insert(String(text(server).prefix(count))) }
  }

  private func text(_ server: Server) -> String { "\(server.current.map { "\($0)" } ?? "z")\(server.name)" }

  // MARK: Choices

  var choices: [Choice] { Choice.allCases.filter(isPossible) }

  private func isPossible(_ choice: Choice) -> Bool {
    let server = server
    let canSend = server.map { !$0.hasEnded } ?? false
    let owes = canSend && server?.owes == true
    switch choice {
    case .submit: return calls.count < 2
    case .cancelFirst: return !calls[0].isOver
    case .cancelSecond: return calls.count > 1 && !calls[1].isOver
    case .take: return server.map { $0.far.heldCount > 0 } ?? false
    case .breakWrites: return server.map { $0.link.writing == nil } ?? false
    case .hint: return owes && server?.stage == Server.Stage.none && server?.hints == 0
    case .proceed: return owes && server?.stage == Server.Stage.none && server?.proceeded == false
    case .part: return owes && server?.stage == Server.Stage.none
    case .head, .refuse, .untilClose: return owes && (server?.stage == Server.Stage.none || server?.stage == .part)
    case .wholeAndMore: return owes && server?.stage == Server.Stage.none
    case .whole:
      let mayBeNoise = server?.owes == false && server?.isCloseDelimited == false && server?.hasReadHeads == true
      return canSend && (mayBeNoise || owes && server?.stage == Server.Stage.none)
    case .body: return owes && server?.stage == .body
    case .rest: return owes && server?.stage == .half
    case .extra:
      let isBody = server?.stage == .body || server?.stage == .half || server?.isCloseDelimited == true
      return canSend && server?.isNoisy == false && server?.hasReadHeads == true && !isBody
    case .end, .cut, .reset: return canSend
    case .time: return engine.nextDue != nil && calls.contains { !$0.isOver }
    }
  }

  func apply(_ choice: Choice) {
    if let server { act(choice, server) }
    switch choice {
    case .submit: submit()
    case .cancelFirst, .cancelSecond:
      let index = choice == .cancelFirst ? 0 : 1
      cancelled.insert(index)
      engine.cancel(calls[index])
      expect(calls[index].isOver, .cancelled, "/\(index)")
    case .time: if let due = engine.nextDue { engine.advance(by: due - engine.clock.now) }
    default: break
    }
    engine.settle()
    check()
  }

  private func act(_ choice: Choice, _ server: Server) {
    let far = server.far, start = server.stage == .part ? "" : "HTTP/1.1 "
    let length = "Content-Length: 2\r\n\r\n"
    switch choice {
    case .take: far.accept(far.heldCount)
    case .breakWrites: server.link.writing = { .failed }
    case .hint:
      server.hints += 1
      far.send("HTTP/1.1 103 E\r\n\r\n")
    case .proceed:
      server.proceeded = true
      far.send("HTTP/1.1 100 C\r\n\r\n")
    case .part:
      server.stage = .part
      far.send("HTTP/1.1 ")
    case .head, .untilClose:
      server.stage = .body
      server.isCloseDelimited = choice == .untilClose
      far.send(start + "200 OK\r\n" + (choice == .untilClose ? "\r\n" : length))
    case .refuse:
      // Nothing is left of a body that was accepted before.
      if server.current == 0, scenario.isPost(0), !server.hasAcceptedBody { server.refusedAt = server.accepted.count }
      far.send(start + "413 No\r\nContent-Length: 0\r\n\r\n")
      completeResponse(server)
    case .body:
      server.stage = .half
      far.send(text(server).prefix(1).utf8)
    case .rest:
      far.send(text(server).dropFirst().utf8)
      // Only its end makes such a response complete.
      if server.isCloseDelimited { server.stage = .done } else { completeResponse(server) }
    case .whole:
      far.send("HTTP/1.1 200 OK\r\n" + length)
      far.send(text(server).utf8)
      if server.owes { completeResponse(server) } else { server.isNoisy = true }
    case .wholeAndMore:
      far.send("HTTP/1.1 200 OK\r\n" + length + text(server) + "x")
      completeResponse(server)
      server.isNoisy = true
    case .extra:
      server.isNoisy = true
      far.send("x")
    case .end, .cut:
      server.hasEnded = true
      if choice == .end, server.isCloseDelimited { completeResponse(server) }
      far.end(isClean: choice == .end || plant == .trustsEnds)
    case .reset:
      server.hasEnded = true
      far.reset()
    case .submit, .cancelFirst, .cancelSecond, .time: break
    }
  }

  private func submit() {
    let number = calls.count, isPost = scenario.isPost(number)
    var request = TransferRequest.to(
      "/\(number)", isPost ? .post : .get, fields: isPost && scenario == .expect ? [.expect: "100-continue"] : [:],
      body: isPost ? RequestBody(source: .bytes(Data("abcdef".utf8))) : .empty)
    request.deadline = plant == .forgetsDeadline ? nil : Self.limit
    request.allowsResend = !isPost || plant == .resendsPost
    let call = engine.prepare(request)
    calls.append(call)
    submittedAt.append(engine.clock.now)
    engine.begin(call)
    engine.settle()
  }

  // MARK: Properties

  private func expect(_ condition: Bool, _ property: Property, _ detail: @autoclosure () -> String) {
    if !condition { broken.append("\(property.rawValue): \(detail())") }
  }

  private func check() {
    for (index, call) in calls.enumerated() {
      if let text = call.text, call.status == 200 {
        expect(text.isEmpty || text.hasPrefix("\(index)"), .ownResponse, "/\(index) got \(text)")
        expect(completed[index]?.contains(text) == true, .whole, "/\(index) got \(text)")
      }
      expect(call.isOver || engine.clock.now < submittedAt[index] + Self.limit, .deadline, "/\(index)")
      guard let error = call.error else { continue }
      let wasAccepted = servers.contains { $0.accepted(index) }
      expect(error.requestSent || !wasAccepted, .unsent, "/\(index), \(call.words)")
    }
    expect(engine.network.openCount + engine.connector.dialCount <= 1, .limit, "\(engine.network.openCount)")
    for server in servers { checkBody(of: server) }
  }

  private func checkBody(of server: Server) {
    if let refusedAt = server.refusedAt {
      expect(server.accepted.count == refusedAt, .stopped, "\(server.accepted.count - refusedAt) bytes")
    }
    guard scenario == .expect, server.heads == [0], !server.proceeded, server.stage == .none else { return }
    // The timer is a tenth of the limit, and starts when the head was accepted.
    let hasBody = String(decoding: server.accepted, as: UTF8.self).contains("\r\n\r\na")
    expect(!hasBody || engine.clock.now >= submittedAt[0] + Self.limit / 10, .expect, "at \(engine.clock.now)")
  }

  func finish() {
    // A request whose response is complete may wait for the rest of its body to be accepted, for a second.
    let waiting = calls.indices.filter { !calls[$0].isOver }
    let promised = waiting.filter { completed[$0] != nil && !cancelled.contains($0) }
    engine.advance(by: Self.limit)
    check()
    for index in promised where servers.allSatisfy({ !$0.isNoisy }) {
      expect(calls[index].response != nil, .delivered, "/\(index) ended \(calls[index].words)")
    }
    for (index, call) in calls.enumerated() { expect(call.isOver, .ends, "/\(index)") }
    let holdings = engine.holdings
    expect(!holdings.hasExchanges && holdings.dials == 0 && holdings.connections <= 1, .ends, "\(holdings)")
    engine.advance(by: .seconds(21))
    expect(engine.holdings == .atRest(connections: 0), .ends, "\(engine.holdings)")
  }

  // MARK: State

  var state: [String] {
    var state = ["\(engine.clock.now)"]
    for call in calls {
      state.append("\(call.words) \(call.job.resends) \(call.job.restarts) \(call.error?.requestSent ?? false)")
    }
    state += servers.map { server in
      """
      \(server.link.isClosed) \(server.heads) \(server.complete.sorted()) \(server.stage) \(server.isCloseDelimited) \
      \(server.hints) \(server.proceeded) \(server.isNoisy) \(server.hasEnded) \(server.accepted.count) \
      \(server.far.heldCount) \(server.link.writing == nil) \(server.refusedAt ?? -1)
      """
    }
    for connection in engine.port.reference.core?.connections.all ?? [] {
      guard let session = connection.session as? HTTP1Session else { continue }
      let machine = session.machine
      state.append(
        "\(machine.writing) \(machine.reading) \(machine.connection) \(connection.exchanges) \(session.timerAt)")
    }
    return state + completed.map { "\($0.key) \($0.value.sorted())" }.sorted()
  }
}
