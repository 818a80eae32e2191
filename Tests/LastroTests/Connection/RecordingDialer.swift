// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroTesting

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Keeps what it is asked for. Streams lead to nobody, datagrams come back.
final class RecordingDialer: Dialer {
  private let kept = Lock<[DialRequest]>([])
  private let ends = Lock<[MemoryStream]>([])
  private let error: TransportError?

  init(error: TransportError? = nil) { self.error = error }

  var requests: [DialRequest] { kept.withLock { $0 } }

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    kept.withLock { $0.append(request) }
    if let error { throw error }
    let (near, far) = MemoryStream.pair()
    ends.withLock { $0.append(far) }
    return near
  }

  func dialDatagrams(_ request: DialRequest) async throws(TransportError) -> any DatagramStream {
    kept.withLock { $0.append(request) }
    return DatagramMirror()
  }
}

/// Gives every datagram back.
private final class DatagramMirror: DatagramStream {
  let facts = StreamFacts()
  let maximumDatagramBytes = 65_507
  private let continuation: AsyncStream<Data>.Continuation
  private let iterator: Lock<AsyncStream<Data>>

  init() {
    let (stream, continuation) = AsyncStream.makeStream(of: Data.self)
    self.continuation = continuation
    iterator = Lock(stream)
  }

  func receive(within limit: Duration?) async throws(TransportError) -> Data {
    var iterator = iterator.withLock { $0 }.makeAsyncIterator()
    guard let datagram = await iterator.next() else {
      throw TransportError(stage: .request, code: .streamClosed, message: "closed")
    }
    return datagram
  }

  func send(_ datagram: Data, within limit: Duration?) async throws(TransportError) {
    guard datagram.count <= maximumDatagramBytes else { throw .refused(.invalidOption, "too large") }
    continuation.yield(datagram)
  }

  func close() { continuation.finish() }
}

/// Tells what it is told to.
final class FakePathMonitor: NetworkPathMonitor {
  private let handler = Lock<(@Sendable (Bool) -> Void)?>(nil)

  var isWatched: Bool { handler.withLock { $0 != nil } }

  func watch(_ facts: StreamFacts, _ handler: @escaping @Sendable (Bool) -> Void) -> (any Cancelable)? {
    self.handler.withLock { $0 = handler }
    return Watch(self)
  }

  func tell(_ isViable: Bool) { handler.withLock { $0 }?(isViable) }

  private final class Watch: Cancelable {
    private let monitor: FakePathMonitor

    init(_ monitor: FakePathMonitor) { self.monitor = monitor }

    var isCancelled: Bool { !monitor.isWatched }
    func cancel() { monitor.handler.withLock { $0 = nil } }
  }
}
