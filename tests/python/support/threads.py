"""Threads of a test whose errors are the test's."""

import threading


def at_once(work, items):
    """Calls work(item) for each item, on a thread of its own each; all begin together. Gives the results in the order of the
    items. Raises the error of the first that failed."""
    items = list(items)
    results, errors, gate = [None] * len(items), [], threading.Barrier(len(items))

    def run(place, item):
        try:
            gate.wait(60)
            results[place] = work(item)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=each) for each in enumerate(items)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results
