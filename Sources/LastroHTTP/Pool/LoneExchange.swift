// SPDX-License-Identifier: Apache-2.0

package import Lastro
package import LastroWire

/// One exchange of HTTP/1.1 over a stream that its maker dialed: a proxy's CONNECT.
package enum LoneExchange {
  /// Sends a request, and gives the answer. Where it ended HTTP on the stream, that is the answer's body
  /// (`ResponseBody.upgraded`); in every other case the stream is closed with the exchange.
  ///
  /// - Parameters:
  ///   - request: all that is sent: no field is added.
  ///   - stream: nothing was read of it.
  ///   - asking: decides where the answer ends.
  ///   - time: measures the limits of the request.
  /// - Throws: `TransportError` of the stream, of a limit, or for an answer that HTTP does not allow.
  package static func run(
    _ request: TransferRequest, over stream: any ByteStream, asking: ResponseReader.Request,
    time: TimeSource = .continuous
  ) async throws(TransportError) -> TransferResponse {
    var settings = ExchangeSettings()
    settings.time = time
    let job = ExchangeJob(request, asking: asking, settings: settings)
    let connection = HTTP1Connection(stream, owner: Owner())
    job.watch { [weak job] now in job?.check(now) }
    let answer = await withTaskCancellationHandler {
      begin(job, on: connection)
      return await job.value()
    } onCancel: {
      job.abandon(.cancelled(requestSent: job.wasSent))
    }
    return try answer.get()
  }

  private static func begin(_ job: ExchangeJob, on connection: HTTP1Connection) {
    switch connection.begin(job) {
    case .begun: return connection.open()
    case .over: break
    case .unfit: job.finish(.goneBeforeSending, facts: nil)
    case .refused(let error): job.finish(error, facts: nil)
    }
    connection.close()
  }

  private final class Owner: ConnectionOwner {
    func freed(_ connection: HTTP1Connection) { connection.close() }

    func gone(_ connection: any ExchangeConnection) {}

    /// A connection that has carried nothing before does not ask for it.
    func again(_ job: ExchangeJob) { job.finish(.goneBeforeSending, facts: nil) }
  }
}
