// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP2

/// The HTTP/2 connections of one host: which takes the next request, and whether another is wanted.
///
/// Owner: ``HostPool``. Thread: the loop's.
final class HTTP2Pool {
  unowned let host: HostPool
  /// The connections that take requests, the oldest first.
  // Unchecked because the loop has this pool alone, and changing it calls nothing that comes back here.
  @exclusivity(unchecked) private var connections: [HTTP2Multiplexer] = []
  /// The connections that take no more requests, and end with their last stream.
  private var retired: [HTTP2Multiplexer] = []
  /// HTTP/2 streams that are open, on all of them.
  private(set) var running = 0
  /// The number of streams that its server allows at a time, by the latest connection that said so.
  var allowedStreams: Int?
  /// Whether the engine will see to it in this turn.
  var isAwaitingService = false

  init(host: HostPool) { self.host = host }

  var engine: HTTPEngine { host.engine }
  private var limit: Int { engine.settings.http2StreamsPerHost }

  /// The number of connections that take requests.
  var count: Int { connections.count }
  var isEmpty: Bool { connections.isEmpty && retired.isEmpty }
  /// Whether a request that comes now need not wait.
  var hasRoom: Bool { running < limit && connections.contains { $0.hasRoom } }
  /// Whether one more connection would help those that wait.
  var mayGrow: Bool { running < limit && !connections.contains { $0.hasRoom || $0.allowsNothing } }

  /// - Throws: why it takes no requests at all.
  func add(_ connection: HTTPConnection) throws(TransportError) {
    do throws(HTTP2Violation) {
      let http2 = try HTTP2Multiplexer(connection, in: self)
      connection.session = http2
      connections.append(http2)
      engine.noteHTTP2(host, true)
      engine.noteIdle(connection)
      http2.begin()
      guard http2.session.isClosedToRequests else { return }
      if case .violation(let violation)? = http2.session.loss { throw violation }
    } catch {
      connection.close()
      throw TransportError(error)
    }
    throw TransportError(HTTP2Unprocessed.unsent)
  }

  /// The most requests that one more connection could take.
  var roomOfNext: Int { min(limit - running, host.engine.settings.http2StreamsPerConnection, allowedStreams ?? .max) }

  /// The first that is fit to take a request.
  func connectionWithRoom() -> HTTP2Multiplexer? {
    guard running < limit else { return nil }
    var index = 0
    while index < connections.count {
      let connection = connections[index]
      if engine.isTooOld(connection.connection) {
        retire(connection)
      } else {
        connection.readIfIdle()
      }
      guard index < connections.count, connections[index] === connection else { continue }
      if connection.hasRoom { return connection }
      index += 1
    }
    return nil
  }

  /// Serves requests that wait: a stream has come free, or a dial is needed.
  func serve() {
    isAwaitingService = false
    host.serveWaiting()
  }

  func noteOpened(on connection: HTTP2Multiplexer) {
    running += 1
    connection.connection.noteActive()
    engine.noteBusy(connection.connection)
  }

  func noteClosed(_ connection: HTTP2Multiplexer) {
    running -= 1
    engine.noteService(host)
    guard connection.isIdle else { return }
    if retired.contains(where: { $0 === connection }) { return finish(connection) }
    guard connections.contains(where: { $0 === connection }) else { return }
    if engine.keepsIdle { engine.noteIdle(connection.connection) } else { retire(connection) }
  }

  /// Takes no more requests on a connection, which ends with its last stream.
  func retire(_ connection: HTTP2Multiplexer) {
    guard let index = connections.firstIndex(where: { $0 === connection }) else { return }
    connections.remove(at: index)
    engine.noteService(host)
    engine.noteBusy(connection.connection)
    if connection.isIdle { finish(connection) } else { retired.append(connection) }
  }

  func retireAll() {
    for connection in connections { retire(connection) }
  }

  private func finish(_ connection: HTTP2Multiplexer) {
    retired.removeAll { $0 === connection }
    connection.close()
    noteEmpty()
  }

  private func noteEmpty() {
    if isEmpty { engine.noteHTTP2(host, false) }
  }

  /// A connection is over, and its streams with it.
  func noteEnd(of connection: HTTP2Multiplexer) {
    defer { noteEmpty() }
    retired.removeAll { $0 === connection }
    guard let index = connections.firstIndex(where: { $0 === connection }) else { return }
    connections.remove(at: index)
    engine.noteBusy(connection.connection)
    engine.noteService(host)
  }

  // MARK: Time

  func tick(now: Int64) {
    for connection in connections + retired { connection.tick(now: now) }
  }

  func tearDown() {
    for connection in connections + retired { connection.connection.close() }
    connections = []
    retired = []
  }
}
