// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import Lastro
internal import LastroSupport

/// A Gemini request as a task that is resumed, may be cancelled, and completes once; for code in callback style.
///
/// The completion is called exactly once: with the response and its body in memory, with an error, or with stage
/// `cancelled` if the task is cancelled or dropped first, even if it was never resumed. It runs on the thread
/// on which the request ended or was cancelled, which it must not block; the task is then already in state
/// ``State/completed``. Every member may be called from any thread.
public final class GeminiDataTask: Cancelable {
  /// A closure that receives the outcome.
  public typealias Completion = @Sendable (Result<GeminiResponse, GeminiError>) -> Void

  /// The state of a task. Transitions only go forward.
  @frozen
  public enum State: Sendable, Hashable {
    /// The ``resume()`` method was not called yet.
    case unstarted
    /// The request is in progress.
    case started
    /// The task has an outcome, or was cancelled.
    case completed
  }

  /// The request of the task.
  package let request: GeminiRequest
  private let client: GeminiClient
  private let maximumBodyBytes: Int
  private let core: Core

  /// Creates a task. Nothing is sent before ``resume()``.
  ///
  /// - Parameters:
  ///   - request: the request to send.
  ///   - client: the client that sends it.
  ///   - maximumBodyBytes: the maximum size of the body; a larger body fails with stage `limit`. Default 16 MiB.
  ///   - completion: receives the outcome, on the thread on which the request ended or was cancelled.
  public init(
    request: GeminiRequest, client: GeminiClient, maximumBodyBytes: Int = 16 << 20,
    completion: @escaping Completion
  ) {
    self.request = request
    self.client = client
    self.maximumBodyBytes = maximumBodyBytes
    core = Core(completion: completion)
  }

  /// Creates a task for a URL, with the defaults of ``init(request:client:maximumBodyBytes:completion:)``.
  ///
  /// - Throws: the errors of ``GeminiURL/init(_:)``; the completion is not called in that case.
  public convenience init(
    url: URL, client: GeminiClient, maximumBodyBytes: Int = 16 << 20,
    completion: @escaping Completion
  ) throws(GeminiError) {
    self.init(
      request: try GeminiRequest(url: url), client: client, maximumBodyBytes: maximumBodyBytes, completion: completion)
  }

  deinit { core.cancel(request.url) }

  /// The current state. It may be read from any thread.
  public var state: State { core.state }
  /// Whether the task was cancelled before it had an outcome.
  public var isCancelled: Bool { core.isCancelled }

  /// Starts the task; has no effect if it was started or cancelled.
  public func resume() {
    core.start { [request, client, maximumBodyBytes, core] in
      Task {
        do throws(GeminiError) {
          core.complete(with: .success(try await client.fetch(request.url).collected(upTo: maximumBodyBytes)))
        } catch {
          core.complete(with: .failure(error))
        }
      }
    }
  }

  /// Cancels the task and closes its connection; has no effect after completion.
  public func cancel() { core.cancel(request.url) }

  /// The state that the running request retains, so that the task itself can be dropped.
  private final class Core: Sendable {
    private struct Parts {
      var state = State.unstarted
      var isCancelled = false
      var completion: Completion?
      var work: Task<Void, Never>?

      /// - Returns: the completion to call, if the task was not complete yet.
      mutating func complete() -> Completion? {
        defer {
          state = .completed
          completion = nil
          work = nil
        }
        return completion
      }
    }

    private let parts: Lock<Parts>

    init(completion: @escaping Completion) { parts = Lock(Parts(completion: completion)) }

    var state: State { parts.withLock { $0.state } }
    var isCancelled: Bool { parts.withLock { $0.isCancelled } }

    func start(_ begin: () -> Task<Void, Never>) {
      parts.withLock { parts in
        guard parts.state == .unstarted else { return }
        parts.state = .started
        parts.work = begin()
      }
    }

    func cancel(_ url: GeminiURL) {
      let (completion, work) = parts.withLock { parts -> (Completion?, Task<Void, Never>?) in
        guard parts.state != .completed else { return (nil, nil) }
        parts.isCancelled = true
        let work = parts.work
        return (parts.complete(), work)
      }
      completion?(.failure(.cancelled(url: url)))
      work?.cancel()
    }

    func complete(with result: Result<GeminiResponse, GeminiError>) {
      let completion = parts.withLock { $0.complete() }
      completion?(result)
    }
  }
}
