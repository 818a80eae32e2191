// SPDX-License-Identifier: Apache-2.0

package import Lastro
internal import LastroSupport
package import LastroWire

/// A single exchange of HTTP/1.1 over a given stream: a proxy's CONNECT.
package enum LoneExchange {
  /// Sends a request, and returns the response. Where it ended HTTP on the stream, that is the response's body
  /// (`ResponseBody.upgraded`); in every other case the stream is closed with the exchange.
  ///
  /// - Parameters:
  ///   - request: all that is sent: no field is added.
  ///   - stream: nothing was read of it.
  ///   - asking: decides where the response ends.
  ///   - time: measures the limits of the request.
  /// - Throws: `TransportError` of the stream, of a limit, or for a response that HTTP does not allow.
  package static func run(
    _ request: TransferRequest, over stream: any ByteStream, asking: ResponseReader.Request,
    time: TimeSource = .continuous
  ) async throws(TransportError) -> TransferResponse {
    let port: EnginePort
    do throws(ConfigurationError) {
      port = try EnginePort.open(
        over: GivenStreamDialer(stream), role: .proxy, settings: settings, options: SharedOptions(given: nil),
        time: time)
    } catch {
      stream.close()
      throw TransportError(error)
    }
    return try await port.execute(request, own: nil, asks: asking)
  }

  private static let settings = {
    var settings = EngineSettings()
    settings.idleConnections = 0
    settings.connectionsPerHost = 1
    settings.offersHTTP2 = false
    settings.messages.userAgent = nil
    settings.messages.decompresses = false
    settings.messages.sendsAccept = false
    return settings
  }()
}

/// Gives one stream, once.
private struct GivenStreamDialer: Dialer {
  private let stream: Lock<(any ByteStream)?>

  init(_ stream: any ByteStream) { self.stream = Lock(stream) }

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    guard let stream = stream.withLock({ $0.take() }) else { throw .goneBeforeSending }
    return stream
  }
}
