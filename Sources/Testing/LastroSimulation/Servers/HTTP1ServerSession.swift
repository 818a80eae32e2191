// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroTesting
internal import LastroWire

/// The server's side of an HTTP/1.1 connection. It answers one request after the other.
final class HTTP1ServerSession: ServerSession {
  private weak var far: MemoryPeer?
  private let number: Int
  private let handle: (LoopbackRequest, any ServerSession) -> Void
  /// The request whose body is being read.
  private var current: LoopbackRequest?
  private var chunks: ChunkMachine?
  /// Whether a request waits for its response. Later ones wait for it.
  private var isAnswering = false
  private var isOver = false

  /// - Parameters:
  ///   - number: the number of the connection.
  ///   - handle: called with each request.
  init(_ far: MemoryPeer, number: Int, _ handle: @escaping (LoopbackRequest, any ServerSession) -> Void) {
    self.far = far
    self.number = number
    self.handle = handle
    far.onBytes = { [self] _ in read() }
    far.onClose = { [self] _ in isOver = true }
  }

  // MARK: Reading

  private func read() {
    while !isOver, !isAnswering, let far {
      if current == nil, !readHead(far) { return }
      guard readBody(far), let request = current else { return }
      current = nil
      isAnswering = true
      handle(request, self)
    }
  }

  private func readHead(_ far: MemoryPeer) -> Bool {
    guard let end = far.received.endOfHead else { return false }
    let bytes = Array(far.received[..<end])
    far.received.removeFirst(end)
    let lines = String(decoding: bytes.dropLast(4), as: UTF8.self).split(separator: "\r\n").map(String.init)
    guard let head = try? RawRequestHead(lines: lines, bytes: bytes) else {
      send(LoopbackResponse(status: 400), to: "GET", closing: true)
      return false
    }
    current = LoopbackRequest(head, connection: number)
    current?.isComplete = !head.hasBody
    chunks = head.isChunked ? ChunkMachine() : nil
    if head["Expect"]?.lowercased() == "100-continue" { far.send("HTTP/1.1 100 Continue\r\n\r\n") }
    return true
  }

  /// Reads what has arrived of the body. Returns whether it is complete.
  private func readBody(_ far: MemoryPeer) -> Bool {
    guard let request = current, !request.isComplete else { return current != nil }
    if chunks != nil {
      do {
        guard try readChunks(far) else { return false }
      } catch {
        send(LoopbackResponse(status: 400), to: request.method, closing: true)
        return false
      }
    } else {
      let length = request.head["Content-Length"].flatMap { Int($0) } ?? 0
      guard far.received.count >= length else { return false }
      current?.body = Array(far.received.prefix(length))
      far.received.removeFirst(length)
    }
    current?.isComplete = true
    return true
  }

  /// Reads what has arrived of a body in chunks. Returns whether it is complete.
  private func readChunks(_ far: MemoryPeer) throws -> Bool {
    var position = 0
    try far.received.withUnsafeBytes { bytes in
      while let count = try chunks?.findData(in: bytes, at: &position), count > 0 {
        current?.body += bytes[position..<position + count]
        position += count
        chunks?.markUsed(count)
      }
    }
    far.received.removeFirst(position)
    guard let chunks, chunks.isDone else { return false }
    current?.trailerFields = chunks.trailers.map { .init(name: $0.name, value: $0.value) }
    return true
  }

  // MARK: Responding

  func respond(_ response: LoopbackResponse, to request: LoopbackRequest) {
    guard !isOver else { return }
    send(response, to: request.method, closing: request.headers["Connection"]?.lowercased() == "close")
  }

  private func send(_ response: LoopbackResponse, to method: String, closing: Bool) {
    let body = response.sentHTTP1Body(to: method)
    switch response.fault?.kind {
    case nil:
      far?.send(response.head(closing: closing) + body)
      if closing { return end() }
      isAnswering = false
      // The client may have sent the next request already.
      read()
    case .stall: break
    case .reset:
      isOver = true
      far?.reset()
    case .close: end()
    case .truncateBody(let count):
      far?.send(response.head(closing: false) + body.prefix(max(0, count)))
      isOver = true
      far?.end(isClean: false)
    case .stallBody(let count): far?.send(response.head(closing: false) + body.prefix(max(0, count)))
    case .http2: send(LoopbackResponse(status: 500), to: method, closing: closing)
    }
  }

  private func end() {
    isOver = true
    far?.end()
  }
}

extension [UInt8] {
  /// The end of the first empty line; `nil` if there is none.
  fileprivate var endOfHead: Int? {
    let blankLine: [UInt8] = [13, 10, 13, 10]
    guard count >= 4 else { return nil }
    return (4...count).first { self[($0 - 4)..<$0].elementsEqual(blankLine) }
  }
}
