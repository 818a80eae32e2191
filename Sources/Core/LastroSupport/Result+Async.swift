// SPDX-License-Identifier: Apache-2.0

extension Result where Success: Sendable {
  /// Runs an asynchronous function, and creates the result from what it returns or throws.
  package init(catching body: () async throws(Failure) -> Success) async {
    do throws(Failure) { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
