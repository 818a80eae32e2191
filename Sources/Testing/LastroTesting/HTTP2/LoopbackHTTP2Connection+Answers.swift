// SPDX-License-Identifier: Apache-2.0

extension LoopbackHTTP2Connection {
  /// Responds to requests until the client is done or a fault ends the connection.
  ///
  /// - Throws: ``LoopbackError``.
  package func serve(_ respond: (LoopbackRequest) throws -> LoopbackResponse) throws(LoopbackError) {
    while !isOver, try step() {
      while let request = nextRequest() {
        answer(request, with: (try? respond(request)) ?? LoopbackResponse(status: 500))
      }
      try sendWhatFits()
    }
  }

  /// Responds to a request of this connection, including faults. Bytes beyond the client's windows are sent while
  /// further requests are read.
  ///
  /// - Throws: ``LoopbackError``.
  package func respond(to request: LoopbackRequest, with response: LoopbackResponse) throws(LoopbackError) {
    answer(request, with: response)
    try sendWhatFits()
  }

  private func answer(_ request: LoopbackRequest, with response: LoopbackResponse) {
    guard let id = request.stream, streams[id] != nil else { return }
    streams[id]?.pieces = pieces(of: response, to: request.method, stream: id)
  }

  // MARK: pieces

  private func pieces(of response: LoopbackResponse, to method: String, stream id: UInt32) -> [LoopbackHTTP2Stream
    .Piece]
  {
    let body = response.sentBody(to: method)
    let interim = response.interimResponses.flatMap { headers($0.http2Fields, stream: id, ends: false) }
    guard let (fault, point) = response.fault.map(Self.http2) else {
      let ends = body.isEmpty && response.trailers.isEmpty
      let head = interim + headers(response.http2Fields, stream: id, ends: ends)
      return head + (ends ? [.ended] : [.body(body[...]), .end(trailers: response.trailers)])
    }
    let head = interim + headers(response.http2Fields, stream: id, ends: false)
    let rest: (ArraySlice<UInt8>) -> [LoopbackHTTP2Stream.Piece] = { [.body($0), .end(trailers: response.trailers)] }
    switch point {
    case .beforeHeaders: return [.fault(fault)] + head + rest(body[...])
    case .afterHeaders: return head + [.fault(fault)] + rest(body[...])
    case .body(let count):
      let count = max(0, count)
      return head + [.body(body.prefix(count)), .fault(fault)] + rest(body.dropFirst(count))
    }
  }

  /// Returns the equivalent HTTP/2 fault and its point.
  private static func http2(
    _ fault: LoopbackResponse.Fault
  ) -> (fault: LoopbackHTTP2Fault, point: LoopbackHTTP2Fault.Point) {
    switch fault.kind {
    case .stall: (.stall, .beforeHeaders)
    case .reset: (.resetConnection, .beforeHeaders)
    case .close: (.close, .beforeHeaders)
    case .truncateBody(let count): (.closeWithoutNotify, .body(after: count))
    case .stallBody(let count): (.stall, .body(after: count))
    case .http2(let fault, let point): (fault, point)
    }
  }

  /// Returns HEADERS, and CONTINUATION for fields that do not fit into one frame.
  private func headers(
    _ fields: [RawRequestHead.Field], stream id: UInt32, ends: Bool
  ) -> [LoopbackHTTP2Stream.Piece] {
    var frames: [LoopbackHTTP2Frame] = []
    var rest = HeaderBlock.encoded(fields)[...]
    repeat {
      let kind: LoopbackHTTP2Frame.Kind = frames.isEmpty ? .headers : .continuation
      frames.append(LoopbackHTTP2Frame(kind, stream: id, payload: Array(rest.prefix(largestFrame))))
      rest = rest.dropFirst(largestFrame)
    } while !rest.isEmpty
    if ends { frames[0].flags |= LoopbackHTTP2Frame.endStream }
    frames[frames.count - 1].flags |= LoopbackHTTP2Frame.endHeaders
    return [.frames(frames)]
  }

  // MARK: sending

  /// Sends as much as the client's windows allow; streams take turns, one frame each.
  func sendWhatFits() throws(LoopbackError) {
    var goesOn = true
    while goesOn {
      goesOn = false
      for id in streams.keys.sorted() where !isOver {
        if try sendPiece(of: id) { goesOn = true }
      }
    }
    if lastStream != nil, streams.isEmpty, !isOver { endConnection { $0.closeAfterPeer() } }
  }

  /// Sends the next piece of a stream; returns whether anything was sent.
  private func sendPiece(of id: UInt32) throws(LoopbackError) -> Bool {
    guard let piece = streams[id]?.pieces.first else { return false }
    switch piece {
    case .body(let rest) where !rest.isEmpty:
      let count = min(rest.count, streams[id]?.window ?? 0, window, largestFrame)
      guard count > 0 else { return false }
      try write(.data(rest.prefix(count), stream: id))
      window -= count
      streams[id]?.window -= count
      streams[id]?.pieces[0] = .body(rest.dropFirst(count))
      return true
    case .body: streams[id]?.pieces.removeFirst()
    case .frames(let frames):
      streams[id]?.pieces.removeFirst()
      for frame in frames { try write(frame) }
    case .fault(let fault):
      streams[id]?.pieces.removeFirst()
      try perform(fault, on: id)
    case .end(let trailers):
      if trailers.isEmpty {
        try write(.data([], stream: id, ends: true))
      } else {
        try write(.headers(trailers, stream: id, ends: true))
      }
      markAnswered(id)
    case .ended: markAnswered(id)
    }
    return true
  }

  /// Marks the response as sent; the request may not be complete yet.
  private func markAnswered(_ id: UInt32) {
    streams[id]?.pieces = []
    streams[id]?.isAnswered = true
    if streams[id]?.request.isComplete ?? true { streams[id] = nil }
  }

  // MARK: faults

  private func perform(_ fault: LoopbackHTTP2Fault, on id: UInt32) throws(LoopbackError) {
    switch fault {
    case .stall: streams[id]?.pieces = []
    case .stallConnection: endConnection { $0.stall() }
    case .resetStream(let code):
      streams[id] = nil
      try write(.resetStream(code, stream: id))
    case .goAway(let last, let code): try goAway(last, code, from: id)
    case .resetConnection: endConnection { $0.reset() }
    case .close: endConnection { $0.closeAfterPeer() }
    case .closeWithoutNotify: endConnection { $0.closeWithoutNotify() }
    case .halfClose:
      endConnection {
        $0.halfClose()
        _ = $0.readToEnd()
      }
    case .truncateFrame: try truncateFrame(on: id)
    case .endStream:
      try write(.data([], stream: id, ends: true))
      markAnswered(id)
    case .send(let bytes): try connection.write(bytes)
    }
  }

  func goAway(
    _ last: LoopbackHTTP2Fault.LastStream, _ code: LoopbackHTTP2Code, from id: UInt32
  ) throws(LoopbackError) {
    let number =
      switch last {
      case .own: id
      case .before: id > 2 ? id - 2 : 0
      case .id(let number): number
      }
    lastStream = number
    for other in streams.keys where other > number { streams[other] = nil }
    try write(.goAway(lastStream: number, code))
  }

  private func truncateFrame(on id: UInt32) throws(LoopbackError) {
    // Before the head, the next piece consists of the head's frames.
    if case .frames(let frames)? = streams[id]?.pieces.first, let first = frames.first {
      try connection.write(first.bytes.prefix(9 + first.payload.count / 2))
    } else {
      try write(LoopbackHTTP2Frame(.data, stream: id, payload: Array("half".utf8), length: 8))
    }
    endConnection { $0.closeAfterPeer() }
  }

  /// Ends the connection; the remaining pieces are never sent.
  private func endConnection(_ how: (LoopbackConnection) -> Void) {
    isOver = true
    streams = [:]
    how(connection)
  }
}

extension LoopbackResponse {
  /// The fields of the head. Names are lower-cased; connection-specific fields are omitted (RFC 9113 §8.2).
  package var http2Fields: [RawRequestHead.Field] {
    let dropped: Set = ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"]
    var all = [RawRequestHead.Field(name: ":status", value: "\(status)")]
    all += fields.map { .init(name: $0.name.lowercased(), value: $0.value) }.filter { !dropped.contains($0.name) }
    if allowsBody, !all.contains(where: { $0.name == "content-length" }) {
      all.append(.init(name: "content-length", value: "\(body.count)"))
    }
    return all
  }
}
