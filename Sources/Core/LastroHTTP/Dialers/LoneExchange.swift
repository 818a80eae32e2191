// SPDX-License-Identifier: Apache-2.0

package import Lastro
internal import LastroSupport
package import LastroWire

/// A single exchange of HTTP/1.1 over a given stream, such as a proxy's CONNECT.
package enum LoneExchange {
  /// Sends a request, and returns the response. If the response ended HTTP on the stream, the stream becomes the
  /// response's body (`ResponseBody.upgraded`). Otherwise the stream is closed when the exchange ends.
  ///
  /// - Parameters:
  ///   - request: the complete request, to which no field is added.
  ///   - stream: the stream, of which nothing was read yet.
  ///   - asking: the rule that determines where the response ends.
  /// - Throws: `TransportError` of the stream, of a limit, or for a response that violates HTTP.
  package static func run(
    _ request: TransferRequest, over stream: any ByteStream, asking: ResponseReader.Request
  ) async throws(TransportError) -> TransferResponse {
    var configuration = DialerTransport.Configuration.bare(.continuous)
    configuration.connectionsPerHost = 1
    let port: EnginePort
    do throws(TransportError) {
      port = try DialerTransport(GivenStreamDialer(stream), role: .proxy, configuration: configuration).port()
    } catch {
      stream.close()
      throw error
    }
    return try await port.execute(request, own: nil, asks: asking)
  }
}

/// A dialer that returns one given stream, once.
private struct GivenStreamDialer: Dialer {
  private let stream: Lock<(any ByteStream)?>

  init(_ stream: any ByteStream) { self.stream = Lock(stream) }

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    guard let stream = stream.withLock({ $0.take() }) else { throw .goneBeforeSending }
    return stream
  }
}
