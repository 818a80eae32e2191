// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP
internal import LastroSupport

// Sessions that have connected are delivered to the caller of the dial or to its delegate, such as a race.
extension StreamHub {
  /// Dials one address for a race.
  func attempt(_ attempt: StreamDial, for race: DialRace) {
    delegates[attempt.id] = race
    begin(attempt, restarts: 0)
  }

  func sessions(of dial: StreamDial, for profile: StreamProfile) -> SessionShare? {
    delegates[dial.id]?.sessions(of: dial.id, for: profile)
  }

  /// Makes the session of an attempt that of the dial.
  func adopt(_ session: StreamSession, for dial: StreamDial) {
    races.remove(dial.id)
    delegates[session.id] = nil
    ports[session.id] = nil
    session.dial = dial
    ports[dial.id] = session
    hand(session)
  }

  /// Delivers a connected stream to its caller.
  func hand(_ session: StreamSession) {
    leave(session.dial)
    if let delegate = delegates[session.id] { return delegate.didConnect(session) }
    if session.dial.kind == .inspection { answerInspection(with: session) }
    guard session.dial.kind == .bytes, let loop = session.dial.loop else {
      return finish(session, .streamClosed)
    }
    if let stream = session.stream { byDescriptor[stream.descriptor] = session }
    let stream = CurlStream(session.facts, StreamClient(id: session.id, loop: loop, ending: session.ending))
    // If the dial was abandoned, the last reference is released here, which closes the stream.
    session.dial.bytes.offer(.success(stream))
  }

  private func answerInspection(with session: StreamSession) {
    let trust = session.peer?.trust
    session.dial.inspection.offer(trust.map { .success($0) } ?? .failure(.unrecordedChain))
  }

  /// Ends a race that made no connection.
  func end(_ race: DialRace, _ error: TransportError) {
    guard races.remove(race.dial.id) else { return }
    refuse(race.dial, error, leaves: true)
  }
}
