# SPDX-License-Identifier: GPL-2.0-or-later
"""How Sphinx makes the site: 'make html' of the Makefile above collects the sources.

The guides are read as they are in the tree, where they name each other, pictures and manual
pages as plain words. Here these words become links, and each picture stands below the
paragraph or drawing that names it.
"""

import os
import re

SOURCE = os.environ['RDMABLK_HTML_SOURCE']

project = 'rdmablk'
author = 'rdmablk developers'
project_copyright = '2026 ' + author
version = release = os.environ['RDMABLK_HTML_VERSION']
html_title = 'rdmablk ' + version

extensions = ['sphinx.ext.graphviz']
graphviz_output_format = 'svg'
# What it includes is a chapter of protocol.rst.
exclude_patterns = ['protocol-structures.rst']
highlight_language = 'none'
smartquotes = False

html_theme = 'sphinx_rtd_theme'
html_theme_options = {'navigation_depth': 3, 'style_external_links': True}
html_show_sourcelink = False
html_static_path = [os.path.join(os.path.dirname(os.path.abspath(__file__)), 'static')]
html_css_files = ['rdmablk.css']


def names(folder):
    """The pages of a folder of the collected sources."""
    path = os.path.join(SOURCE, folder)
    return {name[:-4] for name in os.listdir(path) if name.endswith('.rst')}


GUIDES = names('') - {'protocol-structures'}
RECIPES = names('recipes') if os.path.isdir(os.path.join(SOURCE, 'recipes')) else set()
PAGES = names('man')


def guide(match):
    """``admin-guide.rst`` or ``recipes/mirror.rst`` as a link; recipes name each other without
    their folder."""
    name = match[2]
    if name in GUIDES and not match[1]:
        return ':doc:`%s </%s>`' % (name, name)
    if name in RECIPES:
        return ':doc:`%s </recipes/%s>`' % ((match[1] or '') + name, name)
    return match[0]


def page(match):
    """``rdmablk(8)`` as a link."""
    name = '%s.%s' % (match[1], match[2])
    return ':doc:`%s(%s) </man/%s>`' % (match[1], match[2], name) if name in PAGES else match[0]


def with_pictures(text):
    """Each picture behind the paragraph that names it, or the drawing below that."""
    result, waiting, drawing = [], [], False
    for part in re.split(r'(\n{2,})', text):
        indented = part.startswith((' ', '\t'))
        if part.strip() and waiting and not (drawing and indented):
            result.append('\n\n'.join('.. graphviz:: /pictures/%s\n' % name
                                      for name in waiting) + '\n')
            waiting = []
        named = re.findall(r'``Documentation/pictures/([\w-]+\.dot)``', part)
        if named:
            waiting += named
        if part.strip() and not indented:
            drawing = part.endswith('::')
        result.append(part)
    return ''.join(result)


def read_source(_app, _docname, source):
    """What Sphinx sees of a page."""
    text = with_pictures(source[0])
    text = re.sub(r'``(recipes/)?([\w-]+)\.rst``', guide, text)
    source[0] = re.sub(r'``([\w.-]+)\((\d)\)``', page, text)


def setup(app):
    """Called by Sphinx."""
    app.connect('source-read', read_source)
    return {'parallel_read_safe': True}
