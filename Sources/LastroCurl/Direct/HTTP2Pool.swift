// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP
internal import LastroHTTP2

/// The HTTP/2 connections of one host: which takes the next request, and whether another is wanted.
///
/// Owner: ``DirectHost``. Thread: the loop's.
final class HTTP2Pool {
  unowned let host: DirectHost
  /// Those that take requests, the oldest first.
  // Unchecked because the loop has this pool alone, and changing it calls nothing that comes back here.
  @exclusivity(unchecked) private var connections: [HTTP2Connection] = []
  /// Those that take none any more, and end with their last stream.
  private var retired: [HTTP2Connection] = []
  /// HTTP/2 streams that are open, on all of them.
  private(set) var running = 0
  /// How many streams its server allows at a time, by the latest that said so.
  var allowedStreams: Int?
  /// Whether the carrier will see to it in this turn.
  var isAwaitingService = false

  init(host: DirectHost) { self.host = host }

  var carrier: DirectCarrier { host.carrier }
  private var limit: Int { carrier.settings.http2StreamsPerHost }

  /// Those that take requests.
  var count: Int { connections.count }
  var isEmpty: Bool { connections.isEmpty && retired.isEmpty }
  /// Whether a request that comes now need not wait.
  var hasRoom: Bool { running < limit && connections.contains { $0.hasRoom } }
  /// Whether one more connection would help those that wait.
  var mayGrow: Bool { running < limit && !connections.contains { $0.hasRoom || $0.allowsNothing } }

  /// - Throws: why it takes no requests at all.
  func add(_ connection: DirectConnection) throws(TransportError) {
    do throws(HTTP2Violation) {
      let http2 = try HTTP2Connection(connection, in: self)
      connection.http2 = http2
      connections.append(http2)
      carrier.noteHTTP2(host, true)
      carrier.noteIdle(connection)
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
  var roomOfNext: Int { min(limit - running, HTTP2Configuration().streams, allowedStreams ?? .max) }

  /// The first that is fit to take a request.
  func connectionWithRoom() -> HTTP2Connection? {
    guard running < limit else { return nil }
    var index = 0
    while index < connections.count {
      let connection = connections[index]
      if carrier.isTooOld(connection.connection) {
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

  /// Something has come free, or has to be dialed anew.
  func serve() {
    isAwaitingService = false
    host.serveWaiting()
  }

  func noteOpened(on connection: HTTP2Connection) {
    running += 1
    connection.connection.noteActive()
    carrier.noteBusy(connection.connection)
  }

  func noteClosed(_ connection: HTTP2Connection) {
    running -= 1
    carrier.noteService(host)
    guard connection.isIdle else { return }
    if retired.contains(where: { $0 === connection }) { return finish(connection) }
    if connections.contains(where: { $0 === connection }) { carrier.noteIdle(connection.connection) }
  }

  /// Takes no more requests on a connection, which ends with its last stream.
  func retire(_ connection: HTTP2Connection) {
    guard let index = connections.firstIndex(where: { $0 === connection }) else { return }
    connections.remove(at: index)
    carrier.noteService(host)
    carrier.noteBusy(connection.connection)
    if connection.isIdle { finish(connection) } else { retired.append(connection) }
  }

  func retireAll() {
    for connection in connections { retire(connection) }
  }

  private func finish(_ connection: HTTP2Connection) {
    retired.removeAll { $0 === connection }
    connection.close()
    noteEmpty()
  }

  private func noteEmpty() {
    if isEmpty { carrier.noteHTTP2(host, false) }
  }

  /// A connection is over, and its streams with it.
  func noteEnd(of connection: HTTP2Connection) {
    defer { noteEmpty() }
    retired.removeAll { $0 === connection }
    guard let index = connections.firstIndex(where: { $0 === connection }) else { return }
    connections.remove(at: index)
    carrier.noteBusy(connection.connection)
    carrier.noteService(host)
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
